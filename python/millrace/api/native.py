# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Millrace's C library (include/millrace/millrace.h) by ctypes, found when it is first needed."""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_uint, c_uint64, c_void_p
from typing import Any

from millrace import prefix

API_VERSION = 1

Handle = c_void_p


class NotFoundError(RuntimeError):
    """The C library is not installed, or too old."""


class Counts(ctypes.Structure):
    """The library's open objects; see millrace_counts."""

    _fields_ = [
        (name, c_uint64) for name in ("handles", "staging_bytes", "staging_peak_bytes", "narrow", "unpinned", "retired")
    ]


class Argument(ctypes.Structure):
    """millrace_argument."""

    _fields_ = [
        ("kind", c_int32),
        ("reserved", c_int32),
        ("integer", c_uint64),
        ("real", c_double),
        ("address", c_void_p),
        ("bytes", c_uint64),
        ("device", Handle),
    ]


INTEGER, REAL, REAL32, IN, OUT, INOUT, CALL = range(7)

_MOVE = (c_int64, [Handle, Handle, c_void_p, c_uint64])
_MOVE_AT = (c_int64, [Handle, Handle, c_void_p, c_uint64, c_uint64])
_COPY = (c_int, [Handle, c_void_p, c_void_p, c_uint64])
_BEGIN = (c_int, [Handle, Handle, Handle, c_void_p, c_uint64, c_uint64])
_QUEUE_COPY = (c_int, [Handle, c_void_p, c_void_p, c_uint64, POINTER(c_uint64)])

# Every function of the header: its result, its arguments.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "api_version": (c_int, []),
    "explain": (c_char_p, []),
    "get_counts": (c_int, [POINTER(Counts), c_uint64]),
    "checksum": (c_uint64, [c_void_p, c_uint64]),
    "open": (c_int, [c_char_p, c_int, c_uint, POINTER(Handle)]),
    "adopt": (c_int, [c_int, POINTER(Handle)]),
    "descriptor": (c_int, [Handle]),
    "close": (c_int, [Handle]),
    "write": _MOVE,
    "write_at": _MOVE_AT,
    "read": _MOVE,
    "read_at": _MOVE_AT,
    "seek": (c_int64, [Handle, c_int64, c_int]),
    "size": (c_int64, [Handle]),
    "truncate": (c_int, [Handle, c_uint64]),
    "sync": (c_int, [Handle]),
    "device_open": (c_int, [c_char_p, POINTER(Handle)]),
    "device_close": (c_int, [Handle]),
    "alloc": (c_int, [Handle, c_uint64, POINTER(c_void_p)]),
    "free": (c_int, [Handle, c_void_p]),
    "read_mem": _COPY,
    "write_mem": _COPY,
    "request_init": (c_int, [POINTER(Handle)]),
    "request_write": _BEGIN,
    "request_read": _BEGIN,
    "request_query": (c_int, [Handle]),
    "request_wait": (c_int64, [Handle, c_int64]),
    "request_fini": (c_int, [Handle]),
    "channel_open": (c_int, [c_int, POINTER(Handle)]),
    "channel_close": (c_int, [Handle]),
    "install": (c_int, [Handle, c_char_p, POINTER(c_uint64)]),
    "find": (c_int, [Handle, c_uint64, c_char_p, POINTER(c_uint64)]),
    "uninstall": (c_int, [Handle, c_uint64]),
    "invoke": (c_int, [Handle, c_uint64, POINTER(Argument), c_uint64, Handle, POINTER(c_uint64)]),
    "queue_open": (c_int, [Handle, POINTER(Handle)]),
    "queue_close": (c_int, [Handle]),
    "queue_read_mem": _QUEUE_COPY,
    "queue_write_mem": _QUEUE_COPY,
    "queue_call": (c_int, [Handle, Handle, c_uint64, POINTER(Argument), c_uint64, POINTER(c_uint64)]),
    "queue_peek": (c_int, [Handle, c_uint64]),
    "queue_wait": (c_int, [Handle, c_uint64, c_int64, POINTER(c_uint64)]),
    "queue_sync": (c_int, [Handle, c_int64]),
}


class Library:
    """The functions without their `millrace_`. Other threads of Python run while one is called."""

    def __init__(self, path: os.PathLike[str]) -> None:
        self.path = path
        self._loaded = ctypes.CDLL(os.fspath(path))
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self._loaded, f"millrace_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, "raw_" + name, function)

    def call(self, name: str, *words: Any) -> int:
        """The function's result; OSError if that is a negative errno."""
        result = getattr(self, "raw_" + name)(*words)
        if result < 0:
            raise OSError(-result, self.raw_explain().decode("utf-8", "replace") or os.strerror(-result))
        return result

    def handle(self, name: str, *words: Any) -> Handle:
        """The handle that the function puts into its last argument."""
        made = Handle()
        self.call(name, *words, ctypes.byref(made))
        return made

    def number(self, name: str, *words: Any) -> int:
        made = c_uint64()
        self.call(name, *words, ctypes.byref(made))
        return made.value

    def checksum(self, data: Any) -> int:
        """XXH3-64 of an object with the buffer protocol, contiguous."""
        view = memoryview(data)
        return self.raw_checksum(address_of(view), view.nbytes)


def address_of(view: memoryview) -> int:
    """The address of the bytes; it is valid for as long as `view` lives."""
    if not view.nbytes:
        return 0
    if not view.c_contiguous:
        raise BufferError("the memory is not contiguous; copy it first")
    taken = _PyBuffer()
    _get_buffer(view, ctypes.byref(taken), 0)
    address = taken.buf
    _release_buffer(ctypes.byref(taken))
    return address


class _PyBuffer(ctypes.Structure):
    """Py_buffer of the stable ABI."""

    _fields_ = [
        ("buf", c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", POINTER(ctypes.c_ssize_t)),
        ("strides", POINTER(ctypes.c_ssize_t)),
        ("suboffsets", POINTER(ctypes.c_ssize_t)),
        ("internal", c_void_p),
    ]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.restype, _get_buffer.argtypes = c_int, [ctypes.py_object, POINTER(_PyBuffer), c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.restype, _release_buffer.argtypes = None, [POINTER(_PyBuffer)]


@functools.cache
def find() -> Library | None:
    """The library, or None if there is no suitable one."""
    path = prefix.library()
    if path is None:
        return None
    try:
        library = Library(path)
    except (OSError, AttributeError):  # the library is for another processor, or older
        return None
    return library if library.raw_api_version() >= API_VERSION else None


def need(what: str) -> Library:
    """The library. Raises NotFoundError with the purpose if there is none."""
    library = find()
    if library is None:
        raise NotFoundError(
            f"{what}: Millrace's C library ({prefix.LIBRARY}) was not found beside the Python package, or is too old; "
            "install or build Millrace, or set MILLRACE_PREFIX to its prefix"
        )
    return library


def counts() -> Counts:
    """The library's objects that are open now."""
    found = Counts()
    need("counts").call("get_counts", ctypes.byref(found), ctypes.sizeof(found))
    return found
