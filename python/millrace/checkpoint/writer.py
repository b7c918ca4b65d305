# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Writes checkpoints: planned as a whole, then written by several threads at their places, then named."""

from __future__ import annotations

import ctypes
import errno
import functools
import itertools
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from millrace.checkpoint import bounce as bouncing
from millrace.checkpoint import checksums
from millrace.checkpoint.bounce import Bounce, Bounces
from millrace.checkpoint.header import CHUNK_BYTES, Draft, Tensor, place
from millrace.checkpoint.replace import Replacement
from millrace.checkpoint.sources import Source
from millrace.checkpoint.team import Team
from millrace.checkpoint.tree import Packer

TOGETHER = 256  # the most small tensors in one system call; IOV_MAX is 1024
CALL_BYTES = 64 << 10  # of one system call: the kernel makes folios of this size, and large folios are slow (ADR 4)


def new_bounces(chunk_bytes: int = CHUNK_BYTES) -> Bounces:
    """Bounces, each for one piece."""
    return Bounces(chunk_bytes + TOGETHER * bouncing.ALIGNMENT)


@dataclass
class _Item:
    """A tensor, and its bytes while a thread writes them. Arrays that need a copy are copied when their turn
    comes; the copy is dropped after that."""

    tensor: Tensor
    source: Source | None
    first_chunk: int  # the index of its first checksum
    pieces_left: int
    bytes: memoryview | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def data(self) -> memoryview:
        with self.lock:
            if self.bytes is None:
                self.bytes = self.source.data()
            return self.bytes

    @property
    def is_elsewhere(self) -> bool:
        return self.bytes is None and self.source.fetch is not None

    def view(self, begin: int, end: int, bounce: Bounce | None) -> memoryview:
        if self.is_elsewhere:
            return self.source.fetch(begin, min(end, self.tensor.bytes), bounce)
        return self.data()[begin:end]

    def piece_is_done(self) -> None:
        with self.lock:
            self.pieces_left -= 1
            if not self.pieces_left:
                self.bytes = None


@dataclass
class _Piece:
    """The content of one write call: whole tensors, or chunk number `chunk` of one tensor."""

    items: list[_Item]
    chunk: int
    offset: int


class Plan:
    """A checkpoint without the bytes of its arrays."""

    def __init__(self, tree: Any, checksum: bool) -> None:
        packer = Packer()
        node = packer.pack(tree)
        self.algorithm = checksums.best() if checksum else None
        placed = place([(name, one.dtype, one.shape) for name, one in packer.sources.items()])
        name, digits = (self.algorithm.name, self.algorithm.digits) if self.algorithm else ("", 0)
        self.draft = Draft(placed, node, name, digits)
        self.bytes = self.draft.data_begin + (placed[-1].end if placed else 0)
        self.items, at = [], 0
        for tensor in placed:
            chunks = tensor.chunks(CHUNK_BYTES)
            self.items.append(_Item(tensor, packer.sources[tensor.name], at, chunks))
            at += chunks
        self.checksums = [0] * at if self.algorithm else []

    def snapshot(self, threads: int | None) -> None:
        """Copies all arrays, so that the program may change them."""
        import numpy as np

        bounces = new_bounces()
        copies = [self._room_for_copy(item) for item in self.items]

        def take(task: tuple[_Item, Any, int]) -> None:
            item, copy, begin = task
            if copy is None:
                item.data()
                return
            ours = copy[begin : begin + CHUNK_BYTES]
            bounce = bounces.mine() if item.is_elsewhere else None
            np.copyto(ours, np.frombuffer(item.view(begin, begin + CHUNK_BYTES, bounce), np.uint8))

        tasks = []
        for item, copy in zip(self.items, copies, strict=True):
            begins = [0] if copy is None else range(0, item.tensor.bytes, CHUNK_BYTES)
            tasks += [(item, copy, begin) for begin in begins]
        try:
            Team(threads).run(tasks, take)
        finally:
            bounces.close()
        for item, copy in zip(self.items, copies, strict=True):
            if copy is not None:
                item.bytes = memoryview(copy)
            item.source = None

    def _room_for_copy(self, item: _Item) -> Any:
        """None: the access to the bytes makes a copy in any case."""
        import numpy as np

        if item.source.is_copied and item.source.fetch is None:
            return None
        return np.empty(item.tensor.bytes, np.uint8)

    def pieces(self) -> Iterator[_Piece]:
        """The pieces in the order of the file."""
        together: list[_Item] = []
        for item in self.items:
            if not item.tensor.bytes:
                continue
            size = item.tensor.end - together[0].tensor.begin if together else 0
            if together and (size > CHUNK_BYTES or len(together) == TOGETHER):
                yield self._joined(together)
                together = []
            if item.tensor.bytes <= CHUNK_BYTES:
                together.append(item)
                continue
            for chunk in range(item.pieces_left):
                offset = self.draft.data_begin + item.tensor.begin + chunk * CHUNK_BYTES
                yield _Piece([item], chunk, offset)
        if together:
            yield self._joined(together)

    def _joined(self, items: list[_Item]) -> _Piece:
        return _Piece(items, 0, self.draft.data_begin + items[0].tensor.begin)


class Writer:
    """Carries out a plan once."""

    def __init__(self, plan: Plan, path: str, sync: bool) -> None:
        self._plan = plan
        self._path = path
        self._sync = sync
        self._descriptor = -1
        # A file takes one write at a time: threads that write at once would spin for its lock.
        self._turn = threading.Lock()
        self._bounces = new_bounces()

    def run(self, team: Team) -> None:
        """Writes the file. Raises OSError with `path`; the path then has the old file or none."""
        try:
            with Replacement(self._path) as replacement:
                self._descriptor = replacement.descriptor
                team.run(self._plan.pieces(), self._write)
                head = memoryview(self._plan.draft.finish(self._plan.checksums))
                _write_all(self._descriptor, [head], 0)
                replacement.commit(self._sync)
        except OSError as error:
            raise _explained(error, self._path, self._plan.bytes) from error
        finally:
            self._bounces.close()

    def _write(self, piece: _Piece) -> None:
        views = []
        bounce = self._bounces.mine() if any(item.is_elsewhere for item in piece.items) else None
        for item in piece.items:
            begin = piece.chunk * CHUNK_BYTES
            view = item.view(begin, begin + CHUNK_BYTES, bounce)
            if self._plan.algorithm:
                self._plan.checksums[item.first_chunk + piece.chunk] = self._plan.algorithm.compute(view)
            views.append(view)
        with self._turn:
            _write_all(self._descriptor, views, piece.offset)
        if self._sync:
            begin_writeback(self._descriptor, piece.offset, sum(map(len, views)))
        for item in piece.items:
            item.piece_is_done()


def _write_all(descriptor: int, views: list[memoryview], offset: int) -> None:
    """Writes the views one after another at `offset`, with as many calls as needed."""
    views = [view for view in views if len(view)]
    first = 0
    while first < len(views):
        call, size = [], 0
        for view in itertools.islice(views, first, None):
            call.append(view[: CALL_BYTES - size])
            size += len(call[-1])
            if size == CALL_BYTES:
                break
        done = os.pwritev(descriptor, call, offset)
        if not done:
            raise OSError(errno.EIO, "the file system accepted no further byte")
        offset += done
        while first < len(views) and done >= len(views[first]):
            done -= len(views[first])
            first += 1
        if done:
            views[first] = views[first][done:]


@functools.cache
def _sync_file_range() -> Any:
    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return function


def begin_writeback(descriptor: int, offset: int, size: int) -> None:
    """Starts writeback now, so that fsync has less to do. A hint, which may fail."""
    function = _sync_file_range()
    if function is not None:
        function(descriptor, offset, size, 2)  # SYNC_FILE_RANGE_WRITE


def _explained(error: OSError, path: str, size: int) -> OSError:
    reason = error.strerror
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason += f"; the checkpoint needs {size} bytes"
    elif error.errno == errno.EFBIG:
        reason += f"; the checkpoint has {size} bytes, more than this file system or ulimit -f allows"
    return OSError(error.errno, reason, path)
