# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The header of a checkpoint: built before the data is written, checked when it is read.

docs/reference/checkpoint-format.md describes it."""

from __future__ import annotations

import json
import math
import os
import zlib
from dataclasses import dataclass
from typing import Any

from millrace.checkpoint import dtypes
from millrace.checkpoint.errors import CheckpointError

VERSION = "1"
CHUNK_BYTES = 4 << 20
DATA_ALIGNMENT = 4096
HEADER_MAX_BYTES = 100_000_000
DEPTH_MAX = 200  # of trees; Python's own JSON fails at some depth below 1000
RESERVED_NAME = "__metadata__"

_CRC = b'"millrace.crc32":"'
_CHECKSUMS = b'"millrace.checksums":"'


@dataclass(frozen=True)
class Tensor:
    """One tensor; [begin, end) counts from the begin of the data."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def bytes(self) -> int:
        return self.end - self.begin

    def chunks(self, chunk_bytes: int) -> int:
        return -(-self.bytes // chunk_bytes)


@dataclass(frozen=True)
class Header:
    """A file's header, checked: the tensors in the order of the data, and what Millrace's metadata says."""

    tensors: list[Tensor]
    data_begin: int
    tree: Any  # None: the file is not Millrace's
    is_ours: bool
    algorithm: str  # "": the file has no checksums
    chunk_bytes: int
    checksums: str


def place(named: list[tuple[str, str, tuple[int, ...]]]) -> list[Tensor]:
    """Gives tensors (name, type, shape) their places, aligned: largest elements first."""
    at, placed = 0, []
    for name, dtype, shape in sorted(named, key=lambda one: -dtypes.BITS[one[1]]):
        size = math.prod(shape) * dtypes.BITS[dtype] // 8
        placed.append(Tensor(name, dtype, shape, at, at + size))
        at += size
    return placed


class Draft:
    """A header without its checksums; its length is final."""

    def __init__(self, tensors: list[Tensor], tree: Any, algorithm: str, digits: int) -> None:
        metadata = {"millrace": VERSION, "millrace.crc32": "0" * 8}
        if algorithm:
            chunks = sum(tensor.chunks(CHUNK_BYTES) for tensor in tensors)
            metadata["millrace.chunk"] = str(CHUNK_BYTES)
            metadata["millrace.checksum"] = algorithm
            metadata["millrace.checksums"] = "0" * (digits * chunks)
        metadata["millrace.tree"] = json.dumps(tree, separators=(",", ":"), allow_nan=False)
        entries: dict[str, Any] = {RESERVED_NAME: metadata}
        for tensor in tensors:
            entries[tensor.name] = {
                "dtype": tensor.dtype,
                "shape": tensor.shape,
                "data_offsets": (tensor.begin, tensor.end),
            }
        text = json.dumps(entries, separators=(",", ":")).encode("ascii")
        padding = -(8 + len(text)) % DATA_ALIGNMENT
        if len(text) + padding > HEADER_MAX_BYTES:
            raise CheckpointError(
                f"the tree needs a header of {len(text)} bytes, and a checkpoint's has at most {HEADER_MAX_BYTES}: "
                "put long strings and lists of numbers into arrays"
            )
        self._text = text + b" " * padding
        self._digits = digits

    @property
    def data_begin(self) -> int:
        return 8 + len(self._text)

    def finish(self, checksums: list[int]) -> bytes:
        """The bytes of the file before its data."""
        text = bytearray(self._text)
        if checksums:
            digits = "".join(f"{value:0{self._digits}x}" for value in checksums).encode()
            at = text.index(_CHECKSUMS) + len(_CHECKSUMS)
            text[at : at + len(digits)] = digits
        at = text.index(_CRC) + len(_CRC)
        text[at : at + 8] = f"{zlib.crc32(text):08x}".encode()
        return len(text).to_bytes(8, "little") + bytes(text)


def read(descriptor: int, path: str) -> Header:
    """Reads and checks the header of an open file."""
    size = os.fstat(descriptor).st_size
    length = int.from_bytes(os.pread(descriptor, 8, 0), "little")
    if size < 8 + 2 or os.pread(descriptor, 1, 8) != b"{":
        raise CheckpointError(f"{path} is not a checkpoint: it does not begin as safetensors files do")
    if length > HEADER_MAX_BYTES:
        raise CheckpointError(f"{path} is not a checkpoint: its header would have {length} bytes")
    if 8 + length > size:
        raise CheckpointError(f"{path} is cut off: its header has {length} bytes, the file {size}")
    text = _exactly(descriptor, length, 8, path)
    return _parse(text, size, path)


def _exactly(descriptor: int, length: int, offset: int, path: str) -> bytes:
    parts: list[bytes] = []
    while length:
        part = os.pread(descriptor, length, offset)
        if not part:
            raise CheckpointError(f"{path} became shorter while it was read")
        parts.append(part)
        length, offset = length - len(part), offset + len(part)
    return b"".join(parts)


def _parse(text: bytes, size: int, path: str) -> Header:
    try:
        entries = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: its header is not JSON ({error})") from None
    metadata = entries.pop(RESERVED_NAME, {}) if isinstance(entries, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(f"{path} is damaged: its header is not one of safetensors")
    is_ours = any(key.startswith("millrace") for key in metadata)  # a file with one damaged key is still Millrace's
    if is_ours:
        _check_header(text, metadata, path)
    tensors = _tensors(entries, size - 8 - len(text), path)
    chunk = metadata.get("millrace.chunk", "") if is_ours else ""
    header = Header(
        tensors,
        8 + len(text),
        _tree(metadata, path) if is_ours else None,
        is_ours,
        metadata.get("millrace.checksum", "") if is_ours else "",
        int(chunk) if chunk.isdecimal() and int(chunk) > 0 else CHUNK_BYTES,
        metadata.get("millrace.checksums", ""),
    )
    return header


def _check_header(text: bytes, metadata: dict[str, str], path: str) -> None:
    version = metadata.get("millrace", VERSION)
    if version != VERSION:
        raise CheckpointError(f"{path} has version {version!r} of the format; this Millrace knows {VERSION}")
    at = text.find(_CRC) + len(_CRC)
    blank = text[:at] + b"0" * 8 + text[at + 8 :]
    if text[at : at + 8] != f"{zlib.crc32(blank):08x}".encode():
        raise CheckpointError(f"{path} is damaged: its header does not fit its checksum, or another program changed it")


def _tree(metadata: dict[str, str], path: str) -> Any:
    try:
        return json.loads(metadata["millrace.tree"], object_pairs_hook=_unique, parse_constant=_refuse)
    except (KeyError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: its tree cannot be read ({error})") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _tensors(entries: dict[str, Any], data_bytes: int, path: str) -> list[Tensor]:
    tensors = [_tensor(name, entry, path) for name, entry in entries.items()]
    tensors.sort(key=lambda tensor: (tensor.begin, tensor.end))
    at = 0
    for tensor in tensors:
        if tensor.begin != at:
            raise CheckpointError(f"{path} is damaged: {tensor.name!r} does not begin where the one before it ends")
        at = tensor.end
    if at != data_bytes:
        what = "is cut off" if data_bytes < at else "is damaged"
        raise CheckpointError(f"{path} {what}: its tensors have {at} bytes, its data {data_bytes}")
    return tensors


def _tensor(name: str, entry: Any, path: str) -> Tensor:
    try:
        dtype, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        right = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
        bits = math.prod(shape) * dtypes.BITS[dtype] if right else 0
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(f"{path} is damaged or newer: its header has an invalid entry for {name!r}") from None
    if not right or (end - begin) * 8 != bits:
        raise CheckpointError(f"{path} is damaged: {name!r} has a type and shape that do not fit its bytes")
    return Tensor(name, dtype, shape, begin, end)
