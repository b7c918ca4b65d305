# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of shared libraries, run in a thread or a process of their own on this host."""

from __future__ import annotations

import os
from typing import Any

from millrace.api import memory, native
from millrace.api.files import Handle

_WHERE = {"thread": 0, "process": 1}


class _Memory:
    """Memory of which a function gets a copy."""

    kind = native.IN

    def __init__(self, value: Any) -> None:
        self.bytes = memory.of(value, writable=self.kind != native.IN)


class In(_Memory):
    """The function reads it."""


class Out(_Memory):
    """The function fills it; the function does not see the earlier content."""

    kind = native.OUT


class InOut(_Memory):
    """The function reads and changes it."""

    kind = native.INOUT


class Real32:
    """A float where a function takes float, not double."""

    def __init__(self, value: float) -> None:
        self.value = float(value)


class _Call:
    """The type of CALL."""


CALL = _Call()  # the function gets its millrace_call*, to access more of the caller's memory


class Channel(Handle):
    """Runs functions, one at a time. In a process, a crash of a function is only an error of its call."""

    _closing = "channel_close"

    def __init__(self, where: str = "process") -> None:
        if where not in _WHERE:
            raise ValueError(f"a channel runs in a thread or a process, not in {where!r}")
        library = native.need("millrace.Channel")
        super().__init__(library, library.handle("channel_open", _WHERE[where]))

    def install(self, path: str | os.PathLike[str]) -> Installed:
        """Loads a shared library, as dlopen does."""
        return Installed(self, self._library.number("install", self._open, os.fsencode(path)))


class Installed:
    """A shared library of a channel, until uninstall() or the channel's end."""

    def __init__(self, channel: Channel, number: int) -> None:
        self.channel = channel
        self._number = number

    def find(self, name: str) -> Function:
        channel = self.channel
        return Function(channel, name, channel._library.number("find", channel._open, self._number, name.encode()))

    def uninstall(self) -> None:
        self.channel._library.call("uninstall", self.channel._open, self._number)


class Function:
    """Takes integers, floats (as double), Real32, In, Out, InOut and CALL; returns an unsigned integer of 64 bits."""

    def __init__(self, channel: Channel, name: str, symbol: int) -> None:
        self.channel = channel
        self.name = name
        self.symbol = symbol

    def __call__(self, *arguments: Any, device: Any = None) -> int:
        """`device`: the device of the addresses that the function's CALL takes; None: this process."""
        packed, kept = pack(arguments)
        theirs = None if device is None else device._open
        channel = self.channel
        result = channel._library.number("invoke", channel._open, self.symbol, packed, len(arguments), theirs)
        del kept
        return result


def pack(arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """An array of millrace_argument, and the objects that must live as long."""
    packed = (native.Argument * max(1, len(arguments)))()
    for one, value in zip(packed, arguments, strict=False):
        _pack(one, value)
    return packed, arguments


def _pack(one: native.Argument, value: Any) -> None:
    if isinstance(value, _Memory):
        one.kind, one.address, one.bytes = value.kind, value.bytes.address, value.bytes.size
        one.device = value.bytes.device
    elif isinstance(value, _Call):
        one.kind = native.CALL
    elif isinstance(value, Real32):
        one.kind, one.real = native.REAL32, value.value
    elif isinstance(value, float):
        one.kind, one.real = native.REAL, value
    elif hasattr(value, "__index__"):
        number = value.__index__()
        if not -(1 << 63) <= number < 1 << 64:
            raise OverflowError(f"{number} does not fit into 64 bits")
        one.kind, one.integer = native.INTEGER, number & ((1 << 64) - 1)
    else:
        raise TypeError(
            f"a {type(value).__qualname__} cannot be an argument; use integers, floats, Real32, In, Out, InOut or CALL"
        )
