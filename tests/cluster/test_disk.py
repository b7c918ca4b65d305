# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Slow disks take the time that was asked for, and are file systems all the same."""

import os

import pytest
from conftest import TRIES
from millrace.tools.cluster import slow_disk

pytestmark = pytest.mark.skipif(
    not slow_disk.find_program(os.environ) or not os.path.exists("/dev/fuse"),
    reason="slow-disk is not built, or there is no /dev/fuse",
)

TIMED = """
import os, random, time
fd = os.open("/local/file", os.O_RDWR | os.O_CREAT)
def timed(action):
    begin = time.monotonic(); action(); return time.monotonic() - begin
block = os.urandom(1 << 20)
os.write(fd, block)
print(timed(lambda: [os.write(fd, block) for _ in range(20)]))
print(timed(lambda: [os.pwrite(fd, b"x" * 4096, 8192 * i) for i in range(100)]))
print(timed(lambda: [os.write(fd, b"x" * 4096) for i in range(1000)]))
"""


def test_rate_and_seeks_are_charged(cluster):
    cluster.up("--nodes", 1, "--disk-rate", "40MiB/s", "--seek-time", "5ms")
    least = [float("inf")] * 3
    # Never less than is charged. A busy machine may take more: then again.
    for _ in range(TRIES):
        taken = [float(word) for word in cluster.python(0, TIMED).split()]
        print("20 MiB: {:.3f} s of 0.5; 100 seeks: {:.3f} s of 0.51; 1000 small writes: {:.3f} s of 0.1".format(*taken))
        assert all(one >= bound for one, bound in zip(taken, (0.45, 0.49, 0.09), strict=True))
        least = [min(pair) for pair in zip(taken, least, strict=True)]
        if all(one <= bound for one, bound in zip(least, (0.75, 0.75, 0.3), strict=True)):
            return
    pytest.fail(f"it takes longer than is charged: {least}")


READ = """
import os, time
fd = os.open("/local/file", os.O_RDWR | os.O_CREAT)
os.pwrite(fd, os.urandom(8 << 20), 0)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
begin = time.monotonic(); assert len(os.pread(fd, 8 << 20, 0)) == 8 << 20
print(time.monotonic() - begin)
"""


@pytest.mark.parametrize(("rate", "least", "most"), [("16MiB/s", 0.45, 1.2), ("none", 0, 0.2)])
def test_reads_have_a_rate_of_their_own(cluster, rate, least, most):
    cluster.up("--nodes", 1, "--disk-rate", "80MiB/s", "--seek-time", "0us", "--read-rate", rate)
    for _ in range(TRIES):
        taken = float(cluster.python(0, READ))
        assert least <= taken
        if taken <= most:
            return
    pytest.fail(f"{taken} s, of {least} to {most}")


def test_it_is_a_file_system(cluster):
    cluster.up("--nodes", 1, "--disk-rate", "1GiB/s", "--seek-time", "0us")
    script = """
    set -e; cd /local
    echo a > x; echo b >> x; mv x y; test "$(cat y)" = "$(printf 'a\\nb')"
    ln -s y z; cat z > /dev/null; ln y w; rm w
    mkdir d; echo c > d/e; test "$(find . | sort | tr '\\n' ' ')" = ". ./d ./d/e ./y ./z "; rm -r d
    chown 1:2 y; chmod 640 y; test "$(stat -c '%u %g %a %s' y)" = "1 2 640 4"
    truncate -s 100 y; test "$(stat -c %s y)" = 100; sync y
    exec 5<>y; rm y; echo open >&5; ! test -e y; df . > /dev/null
    touch -d 2001-01-01 f; test "$(stat -c %Y f)" -lt 999999999
    """
    done = cluster.run(0, "bash", "-c", script)
    assert done.returncode == 0, done.stderr


def test_nodes_have_disks_of_their_own(cluster, tmp_path):
    cluster.up("--nodes", 2, "--disk-rate", "100MiB/s", "--slow", "/opt")
    cluster.run(0, "touch", "/local/here")
    assert cluster.run(1, "ls", "/local").stdout == ""
    mounts = cluster.run(1, "cat", "/proc/mounts").stdout
    assert "slow-disk /local " in mounts and "slow-disk /opt " in mounts


def test_a_killed_node_keeps_what_is_on_its_disk(cluster):
    cluster.up("--nodes", 1, "--disk-rate", "100MiB/s")
    cluster.run(0, "sh", "-c", "echo kept > /local/file")
    cluster("kill", 0)
    assert cluster("boot", 0).returncode == 0
    assert cluster.run(0, "cat", "/local/file").stdout == "kept\n"


def test_bad_use_is_told(cluster):
    for options, says in (
        (["--disk-rate", "slow"], "'slow' is not a rate"),
        (["--slow", "/opt"], "needs a rate"),
        (["--read-rate", "1MiB"], "needs a rate of writes too"),
        (["--disk-rate", "1MiB", "--read-rate", "slow"], "--read-rate: 'slow' is not a rate"),
        (["--disk-rate", "1MiB", "--slow", "/no/such"], "there is no such folder"),
        (["--disk-rate", "1MiB", "--seek-time", "7"], "'7' is not a time"),
    ):
        done = cluster("up", "--nodes", 1, *options)
        assert done.returncode == 2 and says in done.stderr
