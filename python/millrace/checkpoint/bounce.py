# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The way between devices' memory and this process's, for one thread: by the C library's registered buffers."""

from __future__ import annotations

import mmap
import os
import threading
from typing import NamedTuple

from millrace.api import native

ALIGNMENT = 64


class Room(NamedTuple):
    """A part of a bounce."""

    view: memoryview
    offset: int


class Bounce:
    """Room in this process for the bytes of one piece at a time, in a file in memory: the library moves bytes between
    files and devices, and recognises a CUDA address by itself, whatever context it belongs to."""

    def __init__(self, size: int) -> None:
        self._library = native.need("arrays on devices")
        self._handle: native.Handle | None = None
        descriptor = os.memfd_create("millrace-bounce", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            self._map = mmap.mmap(descriptor, size)
            self._handle = self._library.handle("adopt", descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._size = size
        self._used = 0

    def clear(self) -> None:
        """Frees all room taken before."""
        self._used = 0

    def take(self, size: int) -> Room:
        """Returns room, which stays valid until clear()."""
        begin = -(-self._used // ALIGNMENT) * ALIGNMENT
        if begin + size > self._size:
            raise MemoryError(f"a bounce of {self._size} bytes has no room for {size} behind {begin}")
        self._used = begin + size
        return Room(memoryview(self._map)[begin : begin + size], begin)

    def from_device(self, address: int, size: int) -> memoryview:
        room = self.take(size)
        self._move("write_at", address, room)
        return room.view

    def to_device(self, address: int, room: Room) -> None:
        self._move("read_at", address, room)

    def _move(self, name: str, address: int, room: Room) -> None:
        done, size = 0, len(room.view)
        while done < size:
            where = (None, address + done, size - done, room.offset + done)
            count = self._library.call(name, self._handle, *where)
            if not count:
                raise OSError(5, "the copy from or to the device failed")
            done += count

    def close(self) -> None:
        """The memory is freed with its last view."""
        if self._handle is not None:
            self._library.call("close", self._handle)
            self._handle = None


class Bounces:
    """One bounce for each thread; all are closed together."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._local = threading.local()
        self._all: list[Bounce] = []

    def mine(self) -> Bounce | None:
        """Empty. None where there is no C library: then arrays move by their own library's ways."""
        if native.find() is None:
            return None
        found = getattr(self._local, "bounce", None)
        if found is None:
            found = self._local.bounce = Bounce(self._size)
            self._all.append(found)
        found.clear()
        return found

    def close(self) -> None:
        for bounce in self._all:
            bounce.close()
        self._all.clear()
