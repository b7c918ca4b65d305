# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The storage benchmark elbencho: its CSV file, one line for each phase."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path
from typing import Any

from millrace.tools.evaluate.errors import BadOutput

CSV = "elbencho.csv"
ABSENT = "elbencho is not on PATH (https://github.com/breuner/elbencho: packages and static builds under Releases)"
# Our name -> the column, for the end result of all threads.
_COLUMNS = {
    "ms": "time ms [last]",
    "entries_s": "entries/s [last]",
    "iops": "IOPS [last]",
    "mib_s": "MiB/s [last]",
    "mib": "MiB [last]",
}


def program() -> str | None:
    return shutil.which("elbencho")


def prepare(folder: Path, more: dict[str, Any]) -> None:
    """elbencho appends to an old file."""
    (folder / CSV).unlink(missing_ok=True)


def read(folder: Path, stdout: str) -> dict[str, Any]:
    return parse((folder / CSV).read_text(encoding="utf-8", errors="replace"))


def parse(text: str) -> dict[str, Any]:
    phases: dict[str, dict[str, float]] = {}
    version = before = ""
    for row in csv.DictReader(io.StringIO(text)):
        operation = (row.get("operation") or "").strip()
        if not operation:
            continue
        cells = {name: (row.get(column) or "").strip() for name, column in _COLUMNS.items()}
        numbers = {name: float(value) for name, value in cells.items() if value}
        if operation != "SYNC":
            phases[operation] = numbers
        elif before in phases:  # elbencho also syncs before the first phase
            phases[before]["sync_ms"] = numbers.get("ms", 0)
        before = operation
        version = row.get("version") or version
    if not phases:
        raise BadOutput(f"{CSV} has no results: elbencho ended early")
    return {
        "schema": "millrace-bench",
        "version": 1,
        "benchmark": "elbencho",
        "program_version": version,
        "phases": phases,
        "verified": True,  # with --verify, elbencho itself ends with an error
    }
