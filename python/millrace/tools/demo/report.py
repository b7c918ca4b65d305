# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's results as tables, JSON, page and picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from millrace.run.command import tell
from millrace.tools.demo import picture

MEANING = (
    "Ratio: time of the stock MPI library / time with Millrace, from open to close, with its sync; the median "
    "of pairs of runs (least to largest). Above 1, Millrace is faster. 'same': the pairs do not agree which side is "
    "faster. 'direct': no agent took part, the ranks wrote by themselves."
)


def publish(document: dict[str, Any], output: Path, drawing: Path | None) -> int:
    """Shows and saves everything; the exit status of the demo."""
    console = Console()
    console = console if console.is_terminal else Console(width=150)
    for part in document["parts"]:
        if part["skipped"]:
            console.print(f"{part['title']}: skipped, {part['skipped']}", markup=False)
        else:
            console.print(_table(part))
    console.print(MEANING, markup=False)
    for note in document["notes"]:
        console.print(note, markup=False)
    details = output / "results.json"
    details.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    try:
        from millrace.tools.demo import page
    except ImportError as error:
        tell(f"no page, because Python's package {error.name} is missing: {sys.executable} -m pip install jinja2")
    else:
        details = output / "index.html"
        page.write(details, document, MEANING)
    if drawing is not None:
        drawing.parent.mkdir(parents=True, exist_ok=True)
        drawing.write_text(picture.draw(document) + "\n", encoding="utf-8")
    console.print(f"{document['seconds']:.0f} s; details: {details}", markup=False)
    results = [result for part in document["parts"] for result in part["results"]]
    bad = [r for r in results if r["error"] or r["identical"] is False]
    return 1 if bad or not any(r["ratio"] is not None for r in results) else 0


def _table(part: dict[str, Any]) -> Table:
    heads = ("program", "MPI", "stock MiB/s", "Millrace MiB/s", "ratio", "", "files", "path taken")
    table = Table(*heads, title=part["title"], title_justify="left")
    for r in part["results"]:
        if r["ratio"] is None:
            text = f"skipped: {r['skipped']}" if r["skipped"] else f"failed: {r['error']}" if r["error"] else "not run"
            table.add_row(r["name"], r["mpi"], "", "", "", "", "", escape(text))
            continue
        files = "[green]identical[/]" if r["identical"] else "[red]DIFFERENT[/]"
        route = r["route"] + (f" (then: {r['error']})" if r["error"] else "")
        table.add_row(
            r["name"],
            r["mpi"],
            f"{r['stock_mib_s']:.3g}",
            f"{r['millrace_mib_s']:.3g}",
            f"{r['ratio']:.2f} ({min(r['ratios']):.2f} to {max(r['ratios']):.2f})",
            r["verdict"],
            files,
            escape(route),
        )
    return table
