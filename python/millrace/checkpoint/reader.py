# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""millrace.load: reads a checkpoint, or any safetensors file, by several threads, and checks it."""

from __future__ import annotations

import contextlib
import json
import mmap as memory_map
import os
import stat
import threading
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace.api import native
from millrace.checkpoint import arrays as building
from millrace.checkpoint import checksums, header, tree
from millrace.checkpoint.errors import CheckpointError, ChecksumError
from millrace.checkpoint.sources import numpy
from millrace.checkpoint.team import Team
from millrace.checkpoint.writer import TOGETHER, new_bounces

_NAMED = 5  # the most tensors that a message names


def load(
    path: str | os.PathLike[str],
    *,
    device: Any = None,
    mmap: bool = False,
    verify: bool | None = None,
    arrays: str | None = None,
    threads: int | None = None,
) -> Any:
    """Returns the tree that millrace.save saved as `path`, or a dictionary of the tensors of another safetensors file.

    Arrays come back as the kind that they were (NumPy, torch, CuPy), contiguous, in host memory except CuPy's.

    - device: the device for torch and CuPy arrays, such as "cuda:0".
    - mmap: maps the file, without verification by default. Changes of arrays do not reach the file.
    - verify: True raises CheckpointError if the file has no checksums, or if they cannot be computed here. None does
      not verify then, with a warning in the latter case. False never does.
    - arrays: "numpy", "torch" or "cupy": the kind of all arrays, whatever they were.
    - threads: the number of threads that read (default: one for each processor, at most 4).

    Raises CheckpointError if the file is no checkpoint, is cut off or damaged; ChecksumError names the wrong tensors.
    """
    if arrays is not None and arrays not in building.LIBRARIES:
        raise ValueError(f"arrays must be one of {', '.join(building.LIBRARIES)}, not {arrays!r}")
    with _opened(path) as (name, descriptor):
        verify = False if mmap and verify is None else verify
        return _Loading(name, descriptor, mmap, verify, threads).tree(arrays, device)


def check(path: str | os.PathLike[str]) -> tuple[header.Header, bool]:
    """The header of a file whose bytes are right, and whether it has checksums, which could be compared."""
    with _opened(path) as (name, descriptor):
        loading = _Loading(name, descriptor, mapped=True, verify=None, threads=None)
        return loading.header, loading.check()


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[str, int]]:
    numpy()
    name = os.fspath(path)
    name = name if isinstance(name, str) else os.fsdecode(name)
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait for a writer
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise CheckpointError(f"{name} is not a checkpoint: it is not a plain file")
        yield name, descriptor
    finally:
        os.close(descriptor)


class _Chunk(NamedTuple):
    tensor: header.Tensor
    number: int
    room: Any  # memory for its bytes: a part of an array, or of building.OnDevice


class _Loading:
    def __init__(self, path: str, descriptor: int, mapped: bool, verify: bool | None, threads: int | None) -> None:
        self._path = path
        self._descriptor = descriptor
        self.header = header.read(descriptor, path)
        self._threads = threads
        self._by_name = {tensor.name: tensor for tensor in self.header.tensors}
        self._algorithm = self._choose(verify)
        self._chunk = self.header.chunk_bytes
        self._expected = self._checksums() if self._algorithm else {}
        self._lock = threading.Lock()
        self._wrong: dict[str, int] = {}  # tensor -> number of wrong chunks
        self._map: Any = None
        self._bounces = new_bounces(min(self._chunk, sum(tensor.bytes for tensor in self.header.tensors)))
        if mapped:
            self._map = memory_map.mmap(descriptor, 0, access=memory_map.ACCESS_COPY)

    def tree(self, library: str | None, device: Any) -> Any:
        nodes = self._nodes()
        wanted = {node["tensor"]: self._by_name[node["tensor"]] for node in nodes}
        raw = {node["tensor"]: self._room(node, library, device) for node in nodes}
        self._go_through(sorted(wanted.values(), key=lambda tensor: tensor.begin), raw)
        built: dict[str, Any] = {}

        def leaf(node: dict[str, Any]) -> Any:
            key = json.dumps(node, sort_keys=True)
            if key not in built:
                name = node["tensor"]
                built[key] = building.build(wanted[name], node, raw[name], library, device)
            return built[key]

        with self._in_this_file():
            if self.header.is_ours:
                return tree.unpack(self.header.tree, leaf)
            return {node["tensor"]: leaf(node) for node in nodes}

    def check(self) -> bool:
        rooms = {one.name: self._room({"tensor": one.name, "as": "numpy"}, None, None) for one in self.header.tensors}
        self._go_through(self.header.tensors, rooms)
        return self._algorithm is not None

    def _go_through(self, tensors: list[header.Tensor], raw: dict[str, Any]) -> None:
        if self._map is None or self._algorithm:
            try:
                Team(self._threads).run(self._pieces(tensors, raw), self._take)
            finally:
                self._bounces.close()
        if self._wrong:
            self._complain()

    def _nodes(self) -> list[dict[str, Any]]:
        if not self.header.is_ours:
            nodes = [{"tensor": tensor.name, "as": "numpy"} for tensor in self.header.tensors]
        else:
            with self._in_this_file():
                nodes = tree.tensor_nodes(self.header.tree)
        for node in nodes:
            if node["tensor"] not in self._by_name:
                raise CheckpointError(f"{self._path} is damaged: its tree names {node['tensor']!r}, which is missing")
            with self._in_this_file():
                building.check_size(self._by_name[node["tensor"]])
        return nodes

    @contextlib.contextmanager
    def _in_this_file(self) -> Iterator[None]:
        try:
            yield
        except CheckpointError as error:
            raise CheckpointError(f"{self._path}: {error}") from None

    def _choose(self, verify: bool | None) -> checksums.Algorithm | None:
        name = self.header.algorithm
        if verify is False or (not name and not verify):
            return None
        found = checksums.find(name)
        if found is not None:
            return found
        problem = f"{self._path} has no checksums" if not name else f"{self._path} has checksums of the kind {name!r}"
        if name:
            problem += ", which cannot be computed here: install Millrace's library (libmillrace_io.so) or xxhash"
        if verify:
            raise CheckpointError(f"{problem}; verify=False loads the file without checks")
        warnings.warn(f"{problem}; the file is loaded without checks", stacklevel=4)
        return None

    def _checksums(self) -> dict[str, list[str]]:
        """The checksums of each tensor's chunks."""
        digits, text, at = self._algorithm.digits, self.header.checksums, 0
        found = {}
        for tensor in self.header.tensors:
            end = at + digits * tensor.chunks(self._chunk)
            found[tensor.name] = [text[i : i + digits] for i in range(at, end, digits)]
            at = end
        if at != len(text):
            raise CheckpointError(f"{self._path} is damaged: the number of checksums differs from the number of chunks")
        return found

    def _room(self, node: dict[str, Any], library: str | None, device: Any) -> Any:
        import numpy as np

        tensor = self._by_name[node["tensor"]]
        if tensor.bytes and self._map is not None:
            return np.frombuffer(self._map, np.uint8, tensor.bytes, self.header.data_begin + tensor.begin)
        if tensor.bytes and device is not None and native.find() is not None:
            with self._in_this_file():
                there = building.on_device(tensor, node, library, device)
            if there is not None:
                return there
        return np.empty(tensor.bytes, np.uint8)

    def _pieces(self, tensors: list[header.Tensor], raw: dict[str, Any]) -> Iterator[list[_Chunk]]:
        """Adjacent pieces of the file for one read call, together about as large as a chunk."""
        together: list[_Chunk] = []
        size, end = 0, -1
        for tensor in tensors:
            for number in range(tensor.chunks(self._chunk)):
                begin = number * self._chunk
                room = raw[tensor.name][begin : begin + self._chunk]
                apart = tensor.begin + begin != end
                if together and (apart or size + len(room) > self._chunk or len(together) == TOGETHER):
                    yield together
                    together, size = [], 0
                together.append(_Chunk(tensor, number, room))
                size, end = size + len(room), tensor.begin + begin + len(room)
        if together:
            yield together

    def _take(self, chunks: list[_Chunk]) -> None:
        begin = chunks[0].tensor.begin + chunks[0].number * self._chunk
        there = [isinstance(chunk.room, building.OnDevice) for chunk in chunks]
        bounce = self._bounces.mine() if any(there) else None
        rooms = [bounce.take(len(chunk.room)) if away else None for chunk, away in zip(chunks, there, strict=True)]
        views = [room.view if room else memoryview(chunk.room) for chunk, room in zip(chunks, rooms, strict=True)]
        if self._map is None:
            self._read(list(views), begin)
        if self._algorithm:
            for chunk, view in zip(chunks, views, strict=True):
                self._verify(chunk, view)
        for chunk, room in zip(chunks, rooms, strict=True):
            if room:
                bounce.to_device(chunk.room.address, room)

    def _verify(self, chunk: _Chunk, view: memoryview) -> None:
        name = chunk.tensor.name
        found = f"{self._algorithm.compute(view):0{self._algorithm.digits}x}"
        if found != self._expected[name][chunk.number]:
            with self._lock:
                self._wrong[name] = self._wrong.get(name, 0) + 1

    def _read(self, views: list[memoryview], begin: int) -> None:
        offset = self.header.data_begin + begin
        while views:
            done = os.preadv(self._descriptor, views, offset)
            if not done:
                raise CheckpointError(f"{self._path} became shorter while it was read")
            offset += done
            while views and done >= len(views[0]):
                done -= len(views.pop(0))
            if done:
                views[0] = views[0][done:]

    def _complain(self) -> None:
        names = [tensor.name for tensor in self.header.tensors if tensor.name in self._wrong]
        parts = []
        for name in names[:_NAMED]:
            parts.append(f"{name!r} ({self._wrong[name]} of {self._by_name[name].chunks(self._chunk)} chunks)")
        if len(names) > _NAMED:
            parts.append(f"{len(names) - _NAMED} more")
        raise ChecksumError(f"{self._path} is damaged: wrong bytes in {', '.join(parts)}", names)
