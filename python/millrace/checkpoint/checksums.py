# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Checksums of chunks: XXH3-64 if a library for it is installed, else CRC-32, which every Python has."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from millrace.api import native


class Algorithm(NamedTuple):
    """`compute` takes anything with the buffer protocol, and lets other threads run meanwhile."""

    name: str
    digits: int
    compute: Callable[[Any], int]


def find(name: str) -> Algorithm | None:
    """The algorithm of that name; None if it cannot be computed here."""
    if name == "crc32":
        return Algorithm("crc32", 8, zlib.crc32)
    if name == "xxh3-64":
        compute = _xxh3()
        return compute and Algorithm("xxh3-64", 16, compute)
    return None


def best() -> Algorithm:
    return find("xxh3-64") or Algorithm("crc32", 8, zlib.crc32)


def _xxh3() -> Callable[[Any], int] | None:
    library = native.find()
    if library is not None:
        return library.checksum
    try:
        from xxhash import xxh3_64_intdigest
    except ImportError:
        return None
    return xxh3_64_intdigest
