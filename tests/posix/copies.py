# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""copies.py LIBRARY: opens of a file that has a copy get the copy, in a process that has been given one.

This program calls what libmillrace-<mpi>.so calls at MPI_Init. The copy has other bytes than the file, so that every
read tells which of the two it has got.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILE, COPY, NEW = b"bytes of the file", b"bytes of the copy", b"new bytes, as long"[: len(b"bytes of the file")]
libc = ctypes.CDLL(None, use_errno=True)
in_hook = False


@ctypes.CFUNCTYPE(ctypes.c_bool)
def hook_runs() -> bool:
    return in_hook


def give(path: Path, copy: Path) -> int:
    """Returns the descriptor of the copy, which has no name any more."""
    about = ctypes.create_string_buffer(512)
    assert libc.stat(os.fsencode(path), about) == 0
    fd = fcntl.fcntl(os.open(copy, os.O_RDONLY), fcntl.F_DUPFD_CLOEXEC, 500)
    copy.unlink()
    assert libc.millrace_posix_copy(about, fd, hook_runs) & 1
    return fd


def by_open(path: Path, flags: int = os.O_RDONLY) -> bytes:
    fd = os.open(path, flags)
    try:
        assert os.lseek(fd, 0, os.SEEK_CUR) == 0 and os.get_inheritable(fd) is False
        assert os.path.samestat(os.fstat(fd), os.stat(path)), "fstat tells of another file"
        return os.read(fd, 100)
    finally:
        os.close(fd)


def by_stream(path: Path, mode: bytes, again: bool = False) -> bytes:
    libc.fopen.restype = libc.freopen.restype = ctypes.c_void_p
    name = os.fsencode(path)
    stream = libc.fopen(b"/dev/null" if again else name, mode)
    if again:
        stream = libc.freopen(name, mode, ctypes.c_void_p(stream))
    data = ctypes.create_string_buffer(100)
    got = libc.fread(data, 1, 100, ctypes.c_void_p(stream))
    libc.fclose(ctypes.c_void_p(stream))
    return data.raw[:got]


def by_map(path: Path) -> bytes:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return view[:]


def by_folder(path: Path) -> bytes:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    fd = os.open(path.name, os.O_RDONLY, dir_fd=folder)
    data = os.pread(fd, 100, 0)
    os.close(fd)
    os.close(folder)
    return data


def expect(path: Path, wanted: bytes) -> None:
    assert by_open(path) == by_open(path, os.O_RDONLY | os.O_NONBLOCK) == by_map(path) == by_folder(path) == wanted
    assert (
        path.read_bytes() == by_stream(path, b"r") == by_stream(path, b"rbe") == by_stream(path, b"r", True) == wanted
    )


def check(folder: Path) -> None:
    global in_hook
    names = ("read", "written", "locked", "changed", "lost")
    for name in names:
        (folder / name).write_bytes(FILE)
        (folder / f"{name}-copy").write_bytes(COPY)
    read, written, locked, changed, lost = (folder / name for name in names)
    time.sleep(0.05)  # longer than a time step of the file system
    copies = {path: give(path, folder / f"{path.name}-copy") for path in (read, written, locked, changed, lost)}
    expect(read, COPY)
    in_hook = True
    expect(read, FILE)
    in_hook = False
    assert by_open(read, os.O_RDWR) == FILE
    named = {**os.environ, "MILLRACE_POSIX_STAGE": str(folder / "*")}
    assert subprocess.run(["cat", read], env=named, capture_output=True, check=True).stdout == FILE, "without MPI"
    expect(written, COPY)
    with written.open("r+b") as file:
        file.write(FILE)
    expect(written, FILE)
    with locked.open("rb") as file:
        fcntl.lockf(file, fcntl.LOCK_SH)
        expect(locked, FILE)
    before = changed.stat()
    subprocess.run(["tee", changed], input=NEW, stdout=subprocess.DEVNULL, check=True)
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    expect(changed, NEW)
    os.close(copies[lost])
    expect(lost, FILE)
    (folder / "missing").write_bytes(FILE)
    (folder / "missing").unlink()
    try:
        by_open(folder / "missing")
        raise AssertionError("a file that is not there was opened")
    except FileNotFoundError:
        pass
    libc.millrace_posix_copy(None, -1, None)
    expect(read, FILE)


def main() -> int:
    if len(sys.argv) == 2:
        environment = {**os.environ, "LD_PRELOAD": sys.argv[1]}
        return subprocess.run(
            [sys.executable, __file__, sys.argv[1], "preloaded"], env=environment, check=False
        ).returncode
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder))
    print("right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
