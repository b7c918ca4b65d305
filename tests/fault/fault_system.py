# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Shared by tests on the fault file system (../faultfs): the fixture, and the file that two ranks of victim.c write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from disk import keep_mounts_private
from faultfs import FaultFs, fault_fs
from victim import pattern

BOUND_S = 60.0
PIECE, PIECES = 1024, 256  # of each rank
SIZE = 2 * PIECES * PIECE
SILENT = "has not answered"  # from the line about a file system that is waited for


@pytest.fixture
def system(tmp_path: Path) -> Iterator[FaultFs]:
    """Mounted for this test alone. new_job (conftest.py) sees that jobs are torn down before it."""
    keep_mounts_private()
    with fault_fs(tmp_path / "faultfs") as made:
        yield made


def whole(system: FaultFs, name: str = "data") -> bool:
    """The file has every byte of both ranks."""
    path = system.folder / name
    return path.exists() and path.read_bytes() == pattern(0, SIZE)
