# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""From a Darshan log to a description of what a program writes, by pydarshan (extra `darshan`).

A log has sums for each file, not single calls: the piece is the one of the four commonest sizes of an access that moved
most of the bytes, else the mean; checkpoints are the files of the kind that has most bytes; the interval is what the
run did beside I/O, divided among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.tools.evaluate.application import OWN, SHARED, Application
from millrace.tools.evaluate.errors import EvaluationError
from millrace.units import human_bytes

# Darshan's module -> prefix of its counters, counters of writes.
_MODULES = {
    "MPI-IO": ("MPIIO", ("INDEP_WRITES", "NB_WRITES"), ("COLL_WRITES", "SPLIT_WRITES")),
    "POSIX": ("POSIX", ("WRITES",), ()),
    "STDIO": ("STDIO", ("WRITES",), ()),
}
SUFFIX = ".darshan"
_SHARED_RECORD = -1  # Darshan's rank for a file that all ranks have open
_SHORTEST_S = 0.001
_STDIO_BUFFER = 4096  # libc passes this many bytes to the kernel at once, also if the program writes fewer


@dataclass(frozen=True)
class Record:
    """The accesses of one rank, or of all together, to a file."""

    file: int
    rank: int
    calls: str  # independent, collective, posix
    writes: int
    bytes: int
    moved: int  # bytes written and read
    sizes: tuple[tuple[int, int], ...]  # the most frequent sizes of an access, and their counts
    io_s: float  # summed over the ranks in the log


def records_of(module: str, counters: Mapping[str, float], times: Mapping[str, float]) -> Record:
    """The records in Darshan's counters, found by name."""
    prefix, single, together = _MODULES[module]

    def count(name: str) -> int:
        return max(0, int(counters.get(f"{prefix}_{name}", 0)))

    alone, joint = sum(map(count, single)), sum(map(count, together))
    calls = "posix" if module != "MPI-IO" else "collective" if joint > alone else "independent"
    written, writes = count("BYTES_WRITTEN"), alone + joint
    if module == "STDIO" and writes:
        writes = max(1, min(writes, written // _STDIO_BUFFER))
    seconds = sum(max(0.0, float(times.get(f"{prefix}_F_{kind}_TIME", 0))) for kind in ("READ", "WRITE", "META"))
    return Record(
        int(counters["id"]),
        int(counters["rank"]),
        calls,
        writes,
        written,
        written + count("BYTES_READ"),
        tuple((count(f"ACCESS{n}_ACCESS"), count(f"ACCESS{n}_COUNT")) for n in range(1, 5)),
        seconds,
    )


def describe(name: str, ranks: int, run_s: float, records: Iterable[Record], where: str) -> Application:
    """`records`: those of MPI-IO first; a file that it names is not counted again below it."""
    rows = [record for record in records if record.bytes and record.writes]
    if not rows:
        raise EvaluationError(f"{where}: Darshan recorded no writes of this run, so no advice is possible")
    by_mpi = {record.file for record in rows if record.calls != "posix"}
    rows = [record for record in rows if record.calls != "posix" or record.file not in by_mpi]
    of_file: dict[int, list[Record]] = {}
    for record in rows:
        of_file.setdefault(record.file, []).append(record)

    def kind(found: list[Record]) -> tuple[str, str]:
        together = any(r.rank == _SHARED_RECORD for r in found) or len({r.rank for r in found}) > 1
        return (SHARED if together or ranks == 1 else OWN), max(found, key=lambda r: r.bytes).calls

    amounts: dict[tuple[str, str], int] = {}
    for found in of_file.values():
        amounts[kind(found)] = amounts.get(kind(found), 0) + sum(r.bytes for r in found)
    layout, calls = max(amounts, key=lambda key: amounts[key])
    chosen = {file: found for file, found in of_file.items() if kind(found) == (layout, calls)}
    # If a log has small and large files, the files with most bytes are the checkpoints.
    largest = max(sum(r.bytes for r in found) for found in chosen.values())
    chosen = {file: found for file, found in chosen.items() if sum(r.bytes for r in found) >= largest / 10}
    flat = [record for found in chosen.values() for record in found]
    total = sum(r.bytes for r in flat)
    checkpoints = len(chosen) if layout == SHARED else max(1, math.ceil(len(chosen) / ranks))
    interval = max(_SHORTEST_S, (run_s - sum(r.io_s for r in rows) / ranks) / checkpoints)
    piece = _piece(flat)
    source = (
        f"from the log: {human_bytes(total)} in {len(chosen)} {'shared file' if layout == SHARED else 'file'}"
        f"{'s' * (len(chosen) > 1)}, {checkpoints} checkpoint{'s' * (checkpoints > 1)}, {calls} calls of about "
        f"{human_bytes(piece)}, {ranks} rank{'s' * (ranks > 1)}, {interval:.3g} s of other work for each checkpoint"
    )
    return Application(name, ranks, max(1, total // checkpoints), piece, layout, calls, interval, source=source)


def _piece(records: list[Record]) -> int:
    writes, amount = sum(r.writes for r in records), sum(r.bytes for r in records)
    moved: dict[int, int] = {}
    for size, times in (pair for r in records for pair in r.sizes):
        moved[size] = moved.get(size, 0) + size * times
    most = max(moved, key=lambda size: moved[size], default=0)
    if most and 2 * moved[most] > sum(r.moved for r in records):
        return most
    return max(1, round(amount / writes))


def load(path: Path) -> Application:
    """Reads a log. Raises EvaluationError if it is no log, has no writes, or pydarshan is missing."""
    if not path.is_file():
        raise EvaluationError(f"{path}: the file does not exist")
    try:
        import darshan
    except ImportError as error:
        raise EvaluationError(
            f"logs of Darshan need pydarshan ({error}): python3 -m pip install 'millrace-io[darshan]' (or darshan); "
            "a description in YAML needs no package"
        ) from None
    try:
        report = darshan.DarshanReport(str(path), read_all=False)
        found = [record for module in _MODULES for record in _read(report, module)]
        job = report.metadata["job"]
        ranks, run_s = int(job["nprocs"]), float(job["run_time"])
        program = Path((str(report.metadata.get("exe") or "").split() or [path.stem])[0]).name
    except EvaluationError:
        raise
    except Exception as error:  # pydarshan may raise anything for a file that is not a log
        raise EvaluationError(f"{path}: pydarshan cannot read it as a log of Darshan: {error}") from None
    return describe(program, max(1, ranks), run_s, found, str(path))


def _read(report: Any, module: str) -> list[Record]:
    if module not in report.modules:
        return []
    report.mod_read_all_records(module)
    tables = report.records[module].to_df()
    counters, times = tables["counters"].to_dict("records"), tables["fcounters"].to_dict("records")
    return [records_of(module, row, time) for row, time in zip(counters, times, strict=True)]
