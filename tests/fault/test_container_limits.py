# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""MPI programs under the limits of containers: small /dev/shm, little locked memory, no io_uring, a memory limit."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from conftest import BUILD, eventually
from victim import pattern

MiB = 1 << 20
PIECE = 8192
TAKEN = "/dev/shm takes no file for the agent's page"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="it needs root")


def write(job, path, mebibytes, prefix, **settings):
    """Two ranks write a file of that size below `prefix`; it is right, and the pipeline was used. The agent's lines."""
    pieces = mebibytes * MiB // PIECE // 2
    job.victim(path, f"piece={PIECE}", f"pieces={pieces}", prefix=tuple(map(str, prefix)), **settings)
    status = job.wait(120)
    assert status == 0 and job.errors() == {}, (status, job.out, job.err)
    assert job.out.count("MPI_SUCCESS") == 2, job.out + job.err
    expected = pattern(0, 256 << 10)
    assert path.stat().st_size == mebibytes * MiB
    with path.open("rb") as file:
        assert all(file.read(len(expected)) == expected for _ in range(mebibytes * 4))
    lines = []

    def agent_told():
        lines[:] = [json.loads(line) for line in job.stats.read_text().splitlines()]
        return any(line["kind"] == "agent_file" for line in lines)

    assert eventually(agent_told, 20), lines
    assert sum(line["calls"] for line in lines if line["kind"] == "client") == 2 * pieces, lines
    return [line for line in lines if line["kind"] == "agent_file"]


@needs_root
def test_with_64_mib_of_dev_shm(job, tmp_path):
    script = 'mount -t tmpfs -o size=64m tmpfs /dev/shm && [ $(stat -f -c %b /dev/shm) -le 16384 ] && exec "$@"'
    private = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
    write(job, tmp_path / "data", 128, private, strategy="sort")


@needs_root
@pytest.mark.parametrize("sink", ["buffered", "direct"])
def test_with_8_mib_of_locked_memory(job, tmp_path, sink):
    # Without the capability, which would lift the limit.
    limited = ["prlimit", f"--memlock={8 * MiB}", "setpriv", "--bounding-set", "-ipc_lock"]
    write(job, tmp_path / "data", 64, limited, strategy="sort", sink=sink)


@pytest.mark.parametrize("error", ["EPERM", "ENOSYS"])
@pytest.mark.parametrize("sink", ["buffered", "direct"])
def test_without_io_uring(job, tmp_path, sink, error):
    write(job, tmp_path / "data", 64, [BUILD / "bin/tests/no_uring", error], strategy="sort", sink=sink)


@pytest.fixture
def limited(job):
    """Words that put a command into a control group with 160 MiB of memory, and the group's folder."""
    for root, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        group = Path(root) / job.key
        with contextlib.suppress(OSError):
            group.mkdir()
            if not (group / limit).exists():  # not a folder of control groups, or without this controller
                group.rmdir()
                continue
            try:
                (group / limit).write_text(str(160 * MiB))
                yield ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group], group
                return
            finally:
                job.end()
                assert eventually(lambda group=group: not list(_members(group)), 20)
                group.rmdir()
    pytest.skip("no control group with a memory limit can be made here")


def _members(group):
    return (group / "cgroup.procs").read_text().split()


def kills(group):
    """How many processes of the group the kernel has ended for want of memory."""
    for name in ("memory.events", "memory.oom_control"):
        if (group / name).exists():
            words = (group / name).read_text().split()
            return int(words[words.index("oom_kill") + 1])
    raise AssertionError("the group does not count such kills")


@needs_root
def test_a_memory_limit_below_the_sort_buffer(job, tmp_path, limited):
    words, group = limited
    (agent,) = write(job, tmp_path / "data", 512, words, strategy="sort", sort_buffer="256MiB")
    assert kills(group) == 0
    assert agent["sort_buffer_bytes"] <= 40 * MiB, agent


@needs_root
@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("mount -t tmpfs -o size=256k tmpfs /dev/shm", "/dev/shm has no room for the agent's page"),
        ("mount -t tmpfs tmpfs /dev/shm && touch /dev/shm/millrace-0", TAKEN),
        ("mount -t tmpfs tmpfs /dev/shm && install -d -o 1 -m 700 /dev/shm/millrace-0", TAKEN),
    ],
    ids=["full", "a file there", "a folder of another user"],
)
def test_without_room_in_dev_shm_the_library_writes_and_a_line_says_so(job, tmp_path, script, line):
    """Without a page, no other job could find the agent."""
    if job.mpi == "mpich" and "size=" in script:
        pytest.skip("MPICH itself opens no file then")
    path = tmp_path / "data"
    private = ("unshare", "--mount", "--propagation", "private", "sh", "-c", f'{script} && exec "$@"', "sh")
    job.victim(path, f"piece={PIECE}", "pieces=4", prefix=private, ranks=1, strategy="sort")
    assert job.wait(60.0) == 0, job.err
    assert job.errors() == {} and job.err.count(line) == 1, job.out + job.err
    assert path.read_bytes() == pattern(0, 4 * PIECE)
