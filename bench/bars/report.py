# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Results as a JSON document and as a table in Markdown."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys

from .measure import Result, size_text


def machine(directory: pathlib.Path) -> dict:
    """What a reader must know to judge the figures."""
    memory_kib = 0
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            memory_kib = int(line.split()[1])
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(directory)], capture_output=True, text=True, check=False)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory_kib / (1 << 20), 1),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "file_system": kind.stdout.strip(),
    }


def document(results: list[Result], about: dict, options: dict) -> dict:
    return {
        "schema": "millrace-bars",
        "version": 1,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "machine": about,
        "options": options,
        "cases": [result.to_json() for result in results],
    }


def fraction_text(value: float | None) -> str:
    return f"{value:.2f}" if value is not None else "-"


def bar_text(result: Result) -> str:
    text = f"ratio {result.case.ratio_bar:g}"
    if result.case.fraction_bar is not None:
        text = f"fraction {result.case.fraction_bar:g}, " + text
    return text


def row(result: Result) -> str:
    case = result.case
    ratios = result.ratios
    ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})" if ratios else "-"
    stock = f"{statistics.median(result.stock):.0f}" if result.stock else "-"
    millrace = f"{statistics.median(result.millrace):.0f}" if result.millrace else "-"
    limit = f"{result.limit:.0f}" if result.limit else "-"
    verdict = result.verdict if not result.problem else f"failed: {result.problem[:120]}"
    cells = [
        ",".join(map(str, case.bars)),
        case.pattern,
        case.mpi,
        str(case.ranks),
        size_text(result.size),
        limit,
        stock,
        fraction_text(result.fraction(result.stock)),
        millrace,
        fraction_text(result.fraction(result.millrace)),
        ratio,
        bar_text(result),
        verdict,
    ]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


HEADINGS = [
    "bar",
    "pattern",
    "MPI",
    "ranks",
    "size",
    "limit MiB/s",
    "stock MiB/s",
    "stock fraction",
    "Millrace MiB/s",
    "Millrace fraction",
    "ratio: median (min..max)",
    "needed",
    "verdict",
]


def markdown(doc: dict, results: list[Result]) -> str:
    about = doc["machine"]
    lines = [
        f"`{doc['command']}`",
        "",
        f"{doc['date']}; {about['cores']} cores, {about['memory_gib']} GiB, Linux {about['kernel']}, "
        f"{about['architecture']}, {about['file_system']}; medians of {doc['options']['pairs']} pairs.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|" + " --- |" * len(HEADINGS),
    ]
    lines += [row(result) for result in results]
    return "\n".join(lines) + "\n"


def write(out: pathlib.Path, doc: dict, results: list[Result]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "bars.json").write_text(json.dumps(doc, indent=1) + "\n")
    (out / "bars.md").write_text(markdown(doc, results))
