# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are read and written from memory of this process or of devices, at once or in the background."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from millrace.api import memory, native

_READ, _WRITE, _CREATE, _TRUNCATE, _EXCLUSIVE, _APPEND = (1 << bit for bit in range(6))
_MODES = {
    "r": _READ,
    "w": _WRITE | _CREATE | _TRUNCATE,
    "x": _WRITE | _CREATE | _EXCLUSIVE,
    "a": _WRITE | _CREATE | _APPEND,
}
_SLICE_MS = 100  # the time after which a wait looks for signals of the program


class Handle:
    """An object that is closed once: by close(), by `with`, or with its last reference."""

    _closing = ""  # the function that closes a file

    def __init__(self, library: native.Library, handle: native.Handle) -> None:
        self._library = library
        self._handle: native.Handle | None = handle

    @property
    def _open(self) -> native.Handle:
        if self._handle is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._handle

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Closes the object. A further call does nothing."""
        if self._handle is not None:
            self._library.call(self._closing, self._handle)
            self._handle = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            getattr(self._library, "raw_" + self._closing)(self._handle)


class File(Handle):
    """A file, always binary. `data` and `into` are anything with the buffer protocol, arrays on CUDA devices, or
    millrace.Memory; arrays on devices go by registered buffers, one piece copied while the one before is written.
    All calls may be made by several threads at once."""

    _closing = "close"

    def __init__(self, path: str | os.PathLike[str], mode: str = "r", permissions: int = 0o666) -> None:
        """`mode`: r, w, x or a, with + for both directions; b is allowed. Raises OSError."""
        letters = mode.replace("b", "", 1)
        flags = _MODES.get(letters[:1], 0)
        if not flags or letters[1:] not in ("", "+"):
            raise ValueError(f"mode must be r, w, x or a, with an optional +, not {mode!r}")
        if letters[1:]:
            flags |= _READ | _WRITE
        library = native.need("millrace.File")
        self.name = os.fspath(path)
        try:
            handle = library.handle("open", os.fsencode(path), flags, permissions)
        except OSError as error:
            raise OSError(error.errno, os.strerror(error.errno), self.name) from None
        super().__init__(library, handle)

    @classmethod
    def adopt(cls, descriptor: int) -> File:
        """A File of a descriptor: file, pipe, socket. Closing the File closes the descriptor."""
        file = cls.__new__(cls)
        file._handle = None
        library = native.need("millrace.File")
        file.name = f"descriptor {descriptor}"
        Handle.__init__(file, library, library.handle("adopt", descriptor))
        return file

    def close(self) -> None:
        """Raises OSError if the last bytes could not be written. The file is closed then, except after EBUSY: a request
        goes on."""
        try:
            super().close()
        except OSError as error:
            if error.errno != 16:  # EBUSY
                self._handle = None
            raise

    def fileno(self) -> int:
        return self._library.call("descriptor", self._open)

    def write(self, data: Any) -> int:
        """Writes all bytes at the file's position, and returns how many they are; OSError if not all could be."""
        return self._whole("write", data, None)

    def write_at(self, data: Any, offset: int) -> int:
        """Writes all bytes at `offset`, without a change of the position."""
        return self._whole("write_at", data, offset)

    def read_into(self, into: Any) -> int:
        """Fills `into` from the file's position on, as far as the file goes; returns the number of bytes. From pipes
        and sockets it takes what is there."""
        return self._call("read", memory.of(into, writable=True), 0, None)

    def read_into_at(self, into: Any, offset: int) -> int:
        return self._call("read_at", memory.of(into, writable=True), 0, offset)

    def read(self, size: int) -> bytes:
        """At most `size` bytes from the file's position on; fewer at its end."""
        into = bytearray(size)
        return bytes(memoryview(into)[: self.read_into(into)])

    def read_at(self, size: int, offset: int) -> bytes:
        into = bytearray(size)
        return bytes(memoryview(into)[: self.read_into_at(into, offset)])

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._library.call("seek", self._open, offset, whence)

    def tell(self) -> int:
        return self.seek(0, os.SEEK_CUR)

    def size(self) -> int:
        return self._library.call("size", self._open)

    def truncate(self, size: int) -> None:
        self._library.call("truncate", self._open, _natural(size))

    def sync(self) -> None:
        """Returns when all written bytes are on the disk (fdatasync)."""
        self._library.call("sync", self._open)

    def begin_write(self, data: Any, offset: int) -> Request:
        """Writes in the background; `data` is to stay as it is until the request's wait() has returned."""
        return Request(self._library)._begin("request_write", self, memory.of(data), offset)

    def begin_read(self, into: Any, offset: int) -> Request:
        return Request(self._library)._begin("request_read", self, memory.of(into, writable=True), offset)

    def _whole(self, name: str, data: Any, offset: int | None) -> int:
        piece, done = memory.of(data), 0
        while done < piece.size:
            count = self._call(name, piece, done, offset)
            if not count:
                raise OSError(5, f"only {done} of {piece.size} bytes were written to {self.name}")
            done += count
        return done

    def _call(self, name: str, piece: memory.Bytes, begin: int, offset: int | None) -> int:
        where = () if offset is None else (_natural(offset) + begin,)
        return self._library.call(name, self._open, piece.device, piece.address + begin, piece.size - begin, *where)


def _natural(number: int) -> int:
    if not 0 <= number < 1 << 63:
        raise ValueError(f"offsets and sizes must be from 0 to 2**63 - 1, not {number}")
    return number


class Request(Handle):
    """A transfer that goes on while the program does."""

    _closing = "request_fini"

    def __init__(self, library: native.Library) -> None:
        super().__init__(library, library.handle("request_init"))
        self._kept: Any = None
        self._result: int | OSError | None = None

    def _begin(self, name: str, file: File, piece: memory.Bytes, offset: int) -> Request:
        where = (piece.device, piece.address, piece.size, _natural(offset))
        self._library.call(name, self._open, file._open, *where)
        self._kept = (file, piece)
        return self

    def done(self) -> bool:
        """True if wait() would return or raise at once."""
        return self._result is not None or self._library.call("request_query", self._open) == 1

    def wait(self, timeout: float | None = None) -> int:
        """The number of bytes that were moved: fewer than wanted at the end of a file, or before an error, which the
        next call meets. Raises OSError if none were, and TimeoutError; then it goes on."""
        if self._result is None:
            self._result = self._await(timeout)
            self._kept = None
            self.close()
        if isinstance(self._result, OSError):
            raise self._result
        return self._result

    def _await(self, timeout: float | None) -> int | OSError:
        def once(limit_ms: int) -> int:
            return self._library.call("request_wait", self._open, limit_ms)

        try:
            return patiently(once, timeout)
        except TimeoutError:
            raise
        except OSError as error:
            return error


def patiently(once: Any, timeout: float | None) -> Any:
    """Calls once(milliseconds) until it does not run out of time, by short steps: signals are heard between them."""
    left_ms = float("inf") if timeout is None else max(0.0, timeout * 1000)
    while True:
        try:
            return once(int(min(left_ms, _SLICE_MS)))
        except TimeoutError:
            left_ms -= _SLICE_MS
            if left_ms <= 0:
                raise TimeoutError(f"the request is not done after {timeout} s and goes on; wait again") from None
