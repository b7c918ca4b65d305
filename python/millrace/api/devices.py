# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Memory of devices: allocated, copied, and used by queues of commands that go on while the program does."""

from __future__ import annotations

from typing import Any

from millrace.api import memory, native
from millrace.api.files import Handle, patiently
from millrace.api.offload import Function, pack


class Device(Handle):
    """Memory that is reached by copies: "host" (to try things), "process", "process:PID", "cuda" or "cuda:N"."""

    _closing = "device_close"

    def __init__(self, which: str) -> None:
        library = native.need("millrace.Device")
        super().__init__(library, library.handle("device_open", which.encode()))
        self.which = which

    def alloc(self, size: int) -> Memory:
        """Memory of this size. Its content is undefined."""
        address = self._library.handle("alloc", self._open, size).value
        return Memory(self, address, size, owned=True)

    def at(self, address: int, size: int) -> Memory:
        """Memory of the device that other code has allocated."""
        return Memory(self, address, size, owned=False)


class Memory:
    """Bytes of a device; slices are parts of them. Memory of alloc() is freed with its last slice."""

    def __init__(self, device: Device, address: int, size: int, owned: bool, whole: Memory | None = None) -> None:
        self.device = device
        self.address = address
        self.size = size
        self._whole = whole
        self._owned = owned

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> Memory:
        begin, end, step = part.indices(self.size)
        if step != 1:
            raise ValueError("a slice of a device's memory must have step 1")
        return Memory(self.device, self._bytes().address + begin, max(0, end - begin), owned=False, whole=self)

    def read(self) -> bytes:
        """Returns a copy of the bytes in this process."""
        into = bytearray(self.size)
        self.read_into(into)
        return bytes(into)

    def read_into(self, into: Any) -> None:
        """Fills `into`, memory of this process that is as large."""
        self._copy("read_mem", memory.of(into, writable=True))

    def write(self, data: Any) -> None:
        """Copies `data`, memory of this process that is as large, to the device."""
        self._copy("write_mem", memory.of(data))

    def free(self) -> None:
        if self._owned:
            self._owned = False
            self.device._library.call("free", self.device._open, self.address)
            self.size = 0

    def _copy(self, name: str, host: memory.Bytes) -> None:
        ours, theirs = check_pair(self, host)
        library = self.device._library
        words = (theirs.address, ours.address) if name == "read_mem" else (ours.address, theirs.address)
        library.call(name, self.device._open, *words, ours.size)

    def _bytes(self) -> memory.Bytes:
        return memory.Bytes(self.address, self.size, self.device._open, self)

    _millrace_bytes = _bytes

    def __del__(self) -> None:
        if getattr(self, "_owned", False) and not self.device.closed:
            self.device._library.raw_free(self.device._handle, self.address)


def check_pair(ours: Memory, host: memory.Bytes) -> tuple[memory.Bytes, memory.Bytes]:
    if host.device is not None:
        raise TypeError("the other side must be memory of this process")
    if host.size != ours.size:
        raise ValueError(f"the sizes differ: {ours.size} bytes there, {host.size} here")
    return ours._bytes(), host


class Queue(Handle):
    """Commands for a device, done one after the other while the program goes on. Closing drops those that have not
    begun; sync() first, to be sure. Leave the memory that they use unchanged until you have waited for their ticket."""

    _closing = "queue_close"

    def __init__(self, device: Device) -> None:
        library = device._library
        super().__init__(library, library.handle("queue_open", device._open))
        self._device = device

    def read(self, ours: Memory, into: Any) -> Ticket:
        device, host = check_pair(ours, memory.of(into, writable=True))
        return self._begin("queue_read_mem", (host.address, device.address, device.size), (ours, host))

    def write(self, ours: Memory, data: Any) -> Ticket:
        device, host = check_pair(ours, memory.of(data))
        return self._begin("queue_write_mem", (device.address, host.address, device.size), (ours, host))

    def call(self, function: Function, *arguments: Any) -> Ticket:
        """Calls a function of a channel; it reaches the memory of the queue's device by its millrace_call."""
        packed, kept = pack(arguments)
        words = (function.channel._open, function.symbol, packed, len(arguments))
        return self._begin("queue_call", words, (function, kept))

    def sync(self, timeout: float | None = None) -> None:
        """Returns when all commands are done. After a TimeoutError they go on."""
        patiently(lambda limit_ms: self._library.call("queue_sync", self._open, limit_ms), timeout)

    def _begin(self, name: str, words: tuple[Any, ...], kept: Any) -> Ticket:
        return Ticket(self, self._library.number(name, self._open, *words), kept)


class Ticket:
    """One command of a queue."""

    def __init__(self, queue: Queue, number: int, kept: Any) -> None:
        self._queue = queue
        self._number = number
        self._kept = kept
        self._result: int | OSError | None = None

    def done(self) -> bool:
        if self._result is not None:
            return True
        return self._queue._library.call("queue_peek", self._queue._open, self._number) == 1

    def wait(self, timeout: float | None = None) -> int:
        """The function's result (0 for transfers). Raises their OSError, or TimeoutError while the work goes on."""
        if self._result is None:
            try:
                self._result = patiently(self._once, timeout)
            except TimeoutError:
                raise
            except OSError as error:
                self._result = error
            self._kept = None
        if isinstance(self._result, OSError):
            raise self._result
        return self._result

    def _once(self, limit_ms: int) -> int:
        return self._queue._library.number("queue_wait", self._queue._open, self._number, limit_ms)
