# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever goes wrong, the old file or the new one is there, complete, and nothing else."""

import errno
import fcntl
import os
import resource
import signal
import stat
import subprocess
import threading
import time

import millrace
import pytest
from conftest import Child
from millrace.checkpoint import saving
from millrace.checkpoint.writer import CALL_BYTES

np = pytest.importorskip("numpy")

OLD = {"generation": 0, "a": np.zeros(1000)}


@pytest.fixture
def path(tmp_path, descriptors):
    folder = tmp_path / "folder"
    folder.mkdir()
    yield folder / "tree"
    assert threading.active_count() == 1, "threads stayed"


@pytest.fixture(params=["without a name", "with a name"])
def way(request, monkeypatch):
    """File systems that have files without names, and others."""
    if request.param == "with a name":
        real = os.open

        def refuse(path, flags, *more, **others):
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(errno.EOPNOTSUPP, "no files without names")
            return real(path, flags, *more, **others)

        monkeypatch.setattr(os, "open", refuse)
    return request.param


def is_old(path):
    assert os.listdir(path.parent) == [path.name]
    return np.array_equal(millrace.load(path, verify=True)["a"], OLD["a"])


@pytest.mark.parametrize("call", ["pwritev", "fsync", "rename", "link"])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_call_that_fails_at_any_time(path, way, monkeypatch, call, code):
    millrace.save(path, OLD)
    tree = {"large": np.ones(3 << 20), "small": [np.ones(3), np.ones(4)]}
    monkeypatch.setattr("millrace.checkpoint.writer.CALL_BYTES", 2 << 20)  # fewer calls that may fail
    real, seen = getattr(os, call), 0
    for fails in range(100):
        count = iter(range(1000))

        def now_and_then(*words, count=count, fails=fails, **more):
            if next(count) == fails:
                raise OSError(code, os.strerror(code))
            return real(*words, **more)

        monkeypatch.setattr(os, call, now_and_then)
        try:
            millrace.save(path, tree)
        except OSError as error:
            seen += 1
            assert error.errno == code and error.filename == str(path)
            monkeypatch.setattr(os, call, real)
            # The name was there already when the folder could not be synced.
            assert (call, fails) == ("fsync", 1) or is_old(path)
            millrace.save(path, OLD)
        else:
            break
    assert seen or (call == "link" and way == "with a name")
    assert np.array_equal(millrace.load(path, verify=True)["large"], tree["large"])


def test_folders_that_cannot_be_synced(path, monkeypatch):
    real = os.fsync

    def only_files(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not here")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    millrace.save(path, OLD)
    assert is_old(path)


def test_no_memory_for_a_copy(path, monkeypatch):
    def fail(*words, **more):
        raise MemoryError

    monkeypatch.setattr("millrace.checkpoint.writer.Plan._room_for_copy", fail)
    with pytest.raises(MemoryError):
        millrace.save(path, OLD, wait=False)


def test_no_threads_to_be_had(path, monkeypatch):
    real = threading.Thread.start
    for allowed in range(4):
        left = iter(range(allowed))

        def start(thread, left=left):
            if next(left, None) is None:
                raise RuntimeError("can't start new thread")
            real(thread)

        monkeypatch.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError):  # helpers are done without, but not the one that leads them
            millrace.save(path, OLD, threads=9)
        monkeypatch.setattr(threading.Thread, "start", real)
        assert threading.active_count() == 1
    millrace.save(path, OLD, threads=1)
    assert is_old(path)


def test_short_writes_and_reads(path, monkeypatch, dice):
    write, read = os.pwritev, os.preadv
    tree = {"large": np.arange(50_000), "small": [np.arange(i) for i in range(50)]}

    def some(views):
        size = dice.randrange(1, 5000)
        taken = []
        for view in views:
            taken.append(view[:size])
            size -= len(taken[-1])
            if not size:
                break
        return taken

    monkeypatch.setattr(os, "pwritev", lambda fd, views, offset: write(fd, some(views), offset))
    monkeypatch.setattr(os, "preadv", lambda fd, views, offset: read(fd, some(views), offset))
    millrace.save(path, tree)
    found = millrace.load(path, verify=True)
    assert np.array_equal(found["large"], tree["large"])
    assert all(map(np.array_equal, found["small"], tree["small"]))


def test_reads_that_fail(path, monkeypatch):
    millrace.save(path, {"a": np.arange(3 << 20)})

    def fail(*words):
        raise OSError(errno.EIO, "disk")

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(OSError, match="disk"):
        millrace.load(path)
    monkeypatch.setattr(os, "preadv", lambda *words: 0)
    with pytest.raises(millrace.CheckpointError, match="shorter"):
        millrace.load(path)


def test_a_limit_on_file_sizes(path):
    millrace.save(path, OLD)

    def work(output):
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, 5_000_000))
        with pytest.raises(OSError, match="8392704 bytes, more than this file system or ulimit -f allows"):
            millrace.save(path, np.ones(1 << 20))

    assert Child(work).end() == ("", 0)
    assert is_old(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a small disk")
def test_a_full_disk(tmp_path, way, descriptors):
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        path = disk / "tree"
        millrace.save(path, OLD)
        with pytest.raises(OSError, match="No space left on device; the checkpoint needs 1[0-9]{7} bytes") as caught:
            millrace.save(path, {"a": np.ones(2 << 20)})
        assert caught.value.errno == errno.ENOSPC
        saving = millrace.save(path, {"a": np.ones(2 << 20)}, wait=False)
        with pytest.raises(OSError, match="No space"):
            saving.wait(240)
        assert is_old(path)
        assert os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize > 7 << 20, "space stayed taken"
        millrace.save(path, {"a": np.ones(1 << 19)})
    finally:
        subprocess.run(["umount", disk], check=True)


def save_for_ever(path, generation, output):
    while True:
        generation += 1
        large, small = np.full(200_000 + generation, generation), np.full(9, generation)
        tree = {"generation": generation, "a": large, "b": [small]}
        millrace.save(path, tree, wait=generation % 3 != 0, fsync=generation % 2 == 0)
        if generation % 3 == 1:
            os.write(output, b"%d\n" % generation)


def test_a_writer_that_is_killed(path, way, dice):
    """Every generation that it told us of is there, or a later one; beside it, what it was at, at most."""
    known = 0
    for _ in range(int(os.environ.get("MILLRACE_TEST_KILLS", "10"))):
        writer = Child(lambda output, known=known: save_for_ever(path, known, output))
        known = int(writer.output.readline())
        time.sleep(dice.random() * 0.06)
        rest, status = writer.end(signal.SIGKILL)
        assert status == -signal.SIGKILL
        lines = rest.split()
        known = int(lines[-1]) if lines else known
        found = millrace.load(path, verify=True)
        assert found["generation"] >= known
        assert (found["a"] == found["generation"]).all() and (found["b"][0] == found["generation"]).all()
        known = found["generation"]
        others = set(os.listdir(path.parent)) - {path.name}
        assert len(others) <= (2 if way == "with a name" else 1), others
    millrace.save(path, OLD)
    assert is_old(path)


def test_orphans_of_killed_writers_go(path):
    folder = path.parent
    orphan, others = folder / ".tree.millrace-0123abcd", folder / ".trees.millrace-0123abcd"
    held, strange = folder / ".tree.millrace-89abcdef", folder / ".tree.millrace-0123abcd.txt"
    for file in (orphan, others, held, strange):
        file.write_text("x")
    with open(held) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        millrace.save(path, OLD)
    assert set(folder.iterdir()) == {path, others, held, strange}


def test_permissions_and_links_stay(path):
    target = path.parent / "target"
    millrace.save(target, OLD)
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()
    target.chmod(0o640)
    path.symlink_to("target")
    millrace.save(path, {"a": 1})
    assert path.is_symlink() and target.stat().st_mode & 0o777 == 0o640 and millrace.load(target) == {"a": 1}


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_reader_keeps_the_file_that_it_has_mapped(path):
    millrace.save(path, {"a": np.arange(1000)})
    found = millrace.load(path, mmap=True)
    found["a"][0] = 5  # its own copy
    millrace.save(path, OLD)
    assert found["a"][0] == 5 and np.array_equal(found["a"][1:], np.arange(1, 1000))
    assert is_old(path)


def test_ctrl_c_just_after_the_save_has_begun(path, monkeypatch):
    millrace.save(path, OLD)
    real, write = saving._begin, os.pwritev

    def begin(new):
        real(new)
        raise KeyboardInterrupt

    def slow(*words):
        time.sleep(0.005)
        return write(*words)

    for wait in (True, False):
        with monkeypatch.context() as patched:
            patched.setattr(saving, "_begin", begin)
            patched.setattr(os, "pwritev", slow)
            with pytest.raises(KeyboardInterrupt):
                millrace.save(path, np.ones(10 << 20), wait=wait)
        assert threading.active_count() == 1 and is_old(path)
    millrace.save(path, OLD)  # nobody waits for what was abandoned


def test_ctrl_c(path, monkeypatch):
    millrace.save(path, OLD)
    real = os.pwritev

    def work(output):
        def slow(*words):
            os.write(output, b"w\n")
            time.sleep(0.005)
            return real(*words)

        monkeypatch.setattr(os, "pwritev", slow)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with pytest.raises(KeyboardInterrupt):
            millrace.save(path, np.ones(10 << 20))
        bound = time.monotonic() + 10  # one that was just being started ends a moment later
        while threading.active_count() > 1 and time.monotonic() < bound:
            time.sleep(0.01)
        os.write(output, b"%d threads\n" % threading.active_count())

    writer = Child(work)
    assert writer.output.readline() == "w\n"
    rest, status = writer.end(signal.SIGINT)
    assert status == 0 and rest.endswith("1 threads\n")
    calls = (80 << 20) // CALL_BYTES
    assert rest.count("w") < calls / 2, "it went on to the end"
    assert is_old(path)
