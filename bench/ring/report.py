# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Results as one JSON document and as a table in Markdown."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib
import shlex
import statistics
import sys

from bars.report import machine

from .measure import MIB, Result

HEADINGS = ["bar", "pattern", "MPI", "nodes x ranks", "way", "size", "MiB/s: median (min..max)", "open, ms", "needed",
            "reached", "verdict"]  # fmt: skip


def spread(values: list[float]) -> str:
    if not values:
        return "-"
    return f"{statistics.median(values):.1f} ({min(values):.1f}..{max(values):.1f})"


def _size(size: int) -> str:
    return f"{size / MIB:.0f} MiB" if size >= MIB else f"{size} B"


def rows(result: Result) -> list[list[str]]:
    case = result.case
    start = [str(case.bar), case.pattern, result.mpi, f"{case.shape.nodes} x {case.shape.per_node}"]
    if result.skipped:
        return [[*start, case.peer or "-", "-", "-", "-", "-", "-", f"skipped: {result.skipped}"]]
    lines = []
    for way in case.ways:
        run = result.runs[way.name]
        needs = [need for need in case.needs if need.way == way.name]
        needed = [f"{need.least:g} of {need.over}" for need in needs]
        ratios = [result.ratio(need.way, need.over) for need in needs]
        reached = ["-" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        opened = f"{statistics.median(run.open_ms):.0f}" if run.open_ms else "-"
        if case.open_ms:
            needed.append(f"open {case.open_ms:g} ms")
            reached.append(opened)
        name = way.name + (f" ({way.target})" if way.target != "disk" else "")
        lines.append([*start, name, _size(run.size), spread(run.mib_s), opened, ", ".join(needed) or "-",
                      ", ".join(reached) or "-", result.verdict(way.name)])  # fmt: skip
    for way, run in result.runs.items():
        for part, values in run.parts.items():
            shown = f"{statistics.median(values):.3f} s ({min(values):.3f}..{max(values):.3f})"
            lines.append([*start, f"{way}: {part}", "", shown, "", "", "", ""])
    for name, values in result.limits.items():
        lines.append([*start, f"limit: {name}", "", spread(values), "", "", "", ""])
    return lines


def row_text(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


LEGEND = """\
Limits: `network` is iperf3's rate over the server's link divided by the part of the bytes that crosses it; `disk` one
sequential stream into the target on the server's node (bench/limit, fsync included); `server` the smaller of the two;
`own` and `other` one stream into the mounted file system, by a process on its server's node and on another node.

Bar 7: `init` is the time from the start of a process to the end of MPI_Init, `read` the time from before open to the
last byte, and `all` the time from the start of a process to the last byte. MPI_Init makes the copies. So the rate of
`posix-stage` counts `read`, and the time that `init` takes longer than the median of `stock`.
"""


def markdown(document: dict, results: list[Result]) -> str:
    about = document["machine"]
    lines = [
        f"`{document['command']}`",
        "",
        f"{document['date']}; {about['cores']} cores, {about['memory_gib']} GiB, Linux {about['kernel']}, "
        f"{about['file_system']}; medians of {document['options']['rounds']} rounds of "
        f"{document['options']['repetitions']} repetitions; links of {document['options']['bandwidth']}.",
        "",
        row_text(HEADINGS),
        "|" + " --- |" * len(HEADINGS),
    ]
    for result in results:
        lines += [row_text(row) for row in rows(result)]
    return "\n".join(lines) + "\n\n" + LEGEND


def to_json(result: Result) -> dict:
    case = dataclasses.asdict(result.case)
    ways = {way["name"]: way for way in case.pop("ways")}
    for name, run in result.runs.items():
        ways[name] |= dataclasses.asdict(run) | {"verdict": result.verdict(name)}
    ratios = [dataclasses.asdict(need) | {"reached": result.ratio(need.way, need.over)} for need in result.case.needs]
    return case | {
        "name": result.case.name,
        "mpi": result.mpi,
        "ways": ways,
        "limits_mib_s": result.limits,
        "needs": ratios,
        "skipped": result.skipped,
    }


def document(results: list[Result], directory: pathlib.Path, options: dict) -> dict:
    return {
        "schema": "millrace-ring",
        "version": 1,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "machine": machine(directory),
        "options": options,
        "cases": [to_json(result) for result in results],
    }


def write(out: pathlib.Path, doc: dict, results: list[Result]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "ring.json").write_text(json.dumps(doc, indent=1) + "\n")
    (out / "ring.md").write_text(markdown(doc, results))
