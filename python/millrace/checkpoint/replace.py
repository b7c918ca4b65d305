# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Replaces an old file by a new one, as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from types import TracebackType

_ATTEMPTS = 100  # to find a free name; usually one is enough
_OWN_DESCRIPTORS = "/proc/self/fd"
# Errors of file systems that do not sync folders. The file is in place, so nothing is left to do.
_NO_FOLDER_SYNC = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
# Errors of file systems without nameless files.
_NO_TMPFILE = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL)


class Replacement:
    """Write to `descriptor`, then commit(): until then PATH is what it was. Leaving without it leaves nothing behind.

    A file without a name goes by itself, even if this process is killed. Where the file system has none, the new file
    has a name and a lock; one whose writer was killed is removed by the next.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.realpath(os.fspath(path))
        self._folder, self._base = os.path.split(self.path)
        self._name = ""  # the name of the new file; empty while it has none
        permissions = self._permissions()
        self._directory = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.descriptor = -1
        try:
            self._remove_orphans()
            self.descriptor = self._create()
            if permissions is not None:
                os.fchmod(self.descriptor, permissions)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Replacement:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def commit(self, sync: bool) -> None:
        """Gives the file the name PATH. With `sync`, the file and its name are on the disk when this returns."""
        if sync:
            os.fsync(self.descriptor)
        if not self._name:
            self._name = self._give_name()
        os.rename(self._name, self._base, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._name = ""
        if not sync:
            return
        try:
            os.fsync(self._directory)
        except OSError as error:
            if error.errno not in _NO_FOLDER_SYNC:
                raise

    def close(self) -> None:
        if self._name:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._directory)
            self._name = ""
        for descriptor in (self.descriptor, self._directory):
            if descriptor >= 0:
                os.close(descriptor)
        self.descriptor = self._directory = -1

    def _permissions(self) -> int | None:
        """The permissions of the old file; None if there is none."""
        try:
            old = os.stat(self.path)
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, "a folder cannot be replaced by a checkpoint", self.path)
        if not stat.S_ISREG(old.st_mode):
            raise OSError(errno.EINVAL, "only a plain file can be replaced by a checkpoint", self.path)
        return stat.S_IMODE(old.st_mode)

    def _create(self) -> int:
        if os.path.isdir(_OWN_DESCRIPTORS):  # without it, a nameless file cannot get a name later
            try:
                return os.open(self._folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
            except OSError as error:
                if error.errno not in _NO_TMPFILE:
                    raise
        for _ in range(_ATTEMPTS):
            name = self._new_name()
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
            try:
                descriptor = os.open(name, flags, 0o666, dir_fd=self._directory)
            except FileExistsError:
                continue
            # Another writer may have removed it as an orphan before the lock.
            if _lock(descriptor) and os.fstat(descriptor).st_nlink:
                self._name = name
                return descriptor
            os.close(descriptor)
        raise OSError(errno.EEXIST, "no name was free for a new file", self._folder)

    def _give_name(self) -> str:
        _lock(self.descriptor)
        source = f"{_OWN_DESCRIPTORS}/{self.descriptor}"
        for _ in range(_ATTEMPTS):
            name = self._new_name()
            with contextlib.suppress(FileExistsError):
                # With a directory's descriptor, Python calls linkat, the only call that follows /proc's link.
                os.link(source, name, src_dir_fd=self._directory, dst_dir_fd=self._directory, follow_symlinks=True)
                return name
        raise OSError(errno.EEXIST, "no name was free for a new file", self._folder)

    @property
    def _prefix(self) -> str:
        return f".{self._base[:200]}.millrace-"

    def _new_name(self) -> str:
        return self._prefix + secrets.token_hex(4)

    def _remove_orphans(self) -> None:
        """Removes files of killed writers, which no process has locked."""
        for name in os.listdir(self._directory):
            tail = name.removeprefix(self._prefix)
            if tail == name or len(tail) != 8 or set(tail) - set("0123456789abcdef"):
                continue
            with contextlib.suppress(OSError):
                descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._directory)
                try:
                    if _lock(descriptor):
                        os.unlink(name, dir_fd=self._directory)
                finally:
                    os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: no file is surely an orphan
        return False
    return True
