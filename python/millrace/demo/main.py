# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Drives the demo: cases in turns within a budget of time, then table, JSON and page."""

from __future__ import annotations

import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from millrace import __version__, machine, prefix, scheduling
from millrace.demo import cases, runner
from millrace.run import EXIT_BAD_USE, tell

SCHEMA = "millrace.demo/1"
_PAIRS = {True: 1, False: 3}


def run(output: Path, quick: bool, only: str | None, budget_s: float, picture: Path | None) -> int:
    """The whole demo; 0 if every program that ran gave identical files."""
    if picture is not None and picture.suffix not in (".svg", ".png"):
        tell(f"--picture {picture}: write it as .svg or .png")
        return EXIT_BAD_USE
    try:
        found = prefix.find()
        output.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix="work-", dir=output))
    except (prefix.PrefixError, OSError) as error:
        tell(str(error))
        return EXIT_BAD_USE
    begin = time.monotonic()
    try:
        chosen = [case for case in cases.all_cases(found, work, quick) if only is None or only in case.name]
        results = [runner.Result(case) for case in chosen]
        limit = measure_limit(found, work, quick)
        with scheduling.one_group() as group:
            _run_all(results, work, found, _PAIRS[quick], begin + budget_s, group)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    document = _document(results, limit, quick, time.monotonic() - begin)
    return _publish(document, output, picture)


def _run_all(
    results: list[runner.Result],
    work: Path,
    found: prefix.Prefix,
    pairs: int,
    deadline: float,
    group: Path | None,
) -> None:
    """Runs round by round, so that at the end of the budget each case has pairs."""
    runnable = [result for result in results if not result.case.missing]
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not Console(stderr=True).is_terminal,
    )
    with progress:
        task = progress.add_task("", total=pairs * len(runnable))
        for number in range(pairs):
            for result in runnable:
                progress.update(task, description=f"{result.case.name} ({number + 1} of {pairs})")
                if not result.error and time.monotonic() < deadline:
                    first = runner.STOCK if number % 2 == 0 else runner.MILLRACE
                    runner.pair(result, work, found, first, group)
                progress.advance(task)


def measure_limit(found: prefix.Prefix, work: Path, quick: bool) -> float | None:
    """MiB/s of one sequential stream with fsync, by bench/limit; None if it is not built."""
    program = cases.bench_program(found, "limit")
    if not program.is_file():
        return None
    try:
        done = subprocess.run(
            [str(program), "-o", str(work / "limit"), "-b", "64m" if quick else "256m", "-i", "3"],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return float(json.loads(done.stdout)["limit_mib_s"])
    except (subprocess.SubprocessError, OSError, ValueError, KeyError):
        return None


def _notes(results: list[runner.Result]) -> list[str]:
    notes = []
    ran = [result for result in results if result.pairs]
    if ran and not any("pipeline" in result.route() for result in ran):
        notes.append(
            "Millrace handled no call of these programs, so this compares the MPI library with "
            "itself. Run `millrace doctor` to see why."
        )
    waiting = [result.case.name for result in results if not (result.pairs or result.error or result.case.missing)]
    if waiting:
        notes.append(f"Not run, because the time had run out: {', '.join(waiting)}.")
    fewest = min((len(result.pairs) for result in ran), default=0)
    most = max((len(result.pairs) for result in ran), default=0)
    if fewest < most:
        notes.append(f"Some programs have only {fewest} pairs: the time was up, or a run failed.")
    return notes


def _document(results: list[runner.Result], limit: float | None, quick: bool, seconds: float) -> dict[str, Any]:
    memory = machine.memory()["total"] or 0
    pairs = max((len(result.pairs) for result in results), default=0)
    return {
        "schema": SCHEMA,
        "version": __version__,
        "quick": quick,
        "seconds": seconds,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": f"{os.cpu_count()} cores, {memory / 2**30:.0f} GiB, Linux {platform.release()}",
        "command": "millrace demo" + (" --quick" if quick else ""),
        "notes": _notes(results),
        "pairs_text": f"{pairs} pair{'s' if pairs != 1 else ''} of runs each",
        "limit_mib_s": limit,
        "results": [result.document() for result in results],
    }


def _table(document: dict[str, Any]) -> Table:
    table = Table("program", "MPI", "ranks", "stock MiB/s", "Millrace MiB/s", "ratio", "files", "path taken")
    for r in document["results"]:
        head = (r["name"], r["mpi"], str(r["ranks"]))
        if r["ratio"] is None:
            text = f"skipped: {r['skipped']}" if r["skipped"] else f"failed: {r['error']}" if r["error"] else "not run"
            table.add_row(*head, "", "", "", "", escape(text))
            continue
        files = "[green]identical[/]" if r["identical"] else "[red]DIFFERENT[/]"
        route = r["route"] + (f" (then: {r['error']})" if r["error"] else "")
        table.add_row(
            *head,
            f"{r['stock_mib_s']:.0f}",
            f"{r['millrace_mib_s']:.0f}",
            f"{r['ratio']:.2f}",
            files,
            escape(route),
        )
    return table


def _publish(document: dict[str, Any], output: Path, picture: Path | None) -> int:
    console = Console()
    console = console if console.is_terminal else Console(width=150)
    console.print(_table(document))
    for note in document["notes"]:
        console.print(note, markup=False)
    (output / "results.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    details = output / "results.json"
    try:
        from millrace.demo import page
    except ImportError as error:
        tell(
            f"no page and no picture, because Python's package {error.name} is missing: "
            f"{sys.executable} -m pip install jinja2 matplotlib"
        )
    else:
        details = output / "index.html"
        page.write(details, document)
        if picture is not None:
            picture.parent.mkdir(parents=True, exist_ok=True)
            page.save_picture(picture, document)
    console.print(f"{document['seconds']:.0f} s; details: {details}", markup=False)
    bad = [r for r in document["results"] if r["error"] or r["identical"] is False]
    ran = any(r["ratio"] is not None for r in document["results"])
    return 1 if bad or not ran else 0
