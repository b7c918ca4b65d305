# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace compare --sites A B`: two machines side by side, each figure beside the limits of its own session.

Two sites differ in everything, so nothing is judged. The share of the own limit is comparable where the figure is not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from millrace.run.command import EXIT_BAD_USE, tell
from millrace.tools.evaluate.compare import Side, load
from millrace.tools.evaluate.errors import EvaluationError
from millrace.units import human_bytes

SCHEMA = "millrace.sites/1"


@dataclass(frozen=True)
class Row:
    """A figure of one side or of both."""

    case: str
    figure: str
    unit: str
    a: dict[str, Any] | None
    b: dict[str, Any] | None

    @property
    def ratio(self) -> float | None:
        """B / A, above 1 in favour of B."""
        if not self.a or not self.b or min(self.a["value"], self.b["value"]) <= 0:
            return None
        ratio = self.b["value"] / self.a["value"]
        return 1 / ratio if self.a.get("lower_is_better") else ratio


def rows_of(a: Side, b: Side) -> list[Row]:
    """All figures: limits first, then those of both sides, in the order of A."""
    names = [*a.cases, *(name for name in b.cases if name not in a.cases)]
    limits = a.limits | b.limits
    found = []
    for case in sorted(names, key=lambda name: name not in limits):
        ours, theirs = a.cases.get(case, {}), b.cases.get(case, {})
        for figure in [*ours, *(name for name in theirs if name not in ours)]:
            one, other = ours.get(figure), theirs.get(figure)
            found.append(Row(case, figure, (one or other or {})["unit"], one, other))
    return found


def facts_of(side: Side) -> dict[str, str]:
    """What has to be known of a machine before its figures are read."""
    processor, storage = side.machine.get("processor") or {}, side.machine.get("storage") or {}
    memory = (side.machine.get("memory") or {}).get("total")
    found = {
        "machine": side.machine.get("hostname"),
        "processor": processor.get("model"),
        "usable processors": processor.get("usable_processors"),
        "memory": human_bytes(memory) if memory else "",
        "kernel": (side.machine.get("software") or {}).get("kernel"),
        "storage": " at ".join(str(storage[name]) for name in ("type", "mount_point") if storage.get(name)),
        "scheduler": side.document.get("scheduler") or "none",
        "profile": side.document.get("profile"),
        "date": str(side.document.get("ended") or side.document.get("begun") or "")[:16].replace("T", " "),
    }
    return {name: str(value) for name, value in found.items() if value}


def run(a: Path, b: Path, as_json: bool) -> int:
    """The exit status: 0, or 2 if a session cannot be read."""
    try:
        first, second = load(a), load(b)
    except EvaluationError as error:
        tell(str(error))
        return EXIT_BAD_USE
    rows = rows_of(first, second)
    if as_json:
        print(json.dumps(document(first, second, rows)))
    else:
        _show(first, second, rows)
    return 0


def document(first: Side, second: Side, rows: list[Row]) -> dict[str, Any]:
    def numbers(figure: dict[str, Any] | None) -> dict[str, Any] | None:
        return figure and {name: figure.get(name) for name in ("value", "percent_of_limit")}

    sites = [{"name": side.name, "facts": facts_of(side)} for side in (first, second)]
    figures = [
        {"case": r.case, "figure": r.figure, "unit": r.unit, "a": numbers(r.a), "b": numbers(r.b), "ratio": r.ratio}
        for r in rows
    ]
    return {"schema": SCHEMA, "sites": sites, "figures": figures}


def _cell(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "-"
    percent = figure.get("percent_of_limit")
    return f"{figure['value']:.4g}" + (f" ({percent:.3g} %)" if percent is not None else "")


def _show(first: Side, second: Side, rows: list[Row]) -> None:
    console = Console()
    console = console if console.is_terminal else Console(width=150)
    names = [first.name, second.name] if first.name != second.name else ["A", "B"]
    facts = [facts_of(first), facts_of(second)]
    table = Table("", *names)
    for name in dict.fromkeys([*facts[0], *facts[1]]):
        table.add_row(name, *(side.get(name, "-") for side in facts))
    console.print(table, markup=False)
    table = Table("case", "figure", "unit", *names, f"{names[1]} / {names[0]}")
    for row in rows:
        ratio = row.ratio
        table.add_row(
            row.case, row.figure, row.unit, _cell(row.a), _cell(row.b), "-" if ratio is None else f"{ratio:.2f}"
        )
    console.print(table, markup=False)
    console.print(
        "In brackets: the share of the limit that the same session measured. Ratios above 1 favour the second. "
        "Nothing is judged: without --sites, compare judges two sessions of one machine.",
        highlight=False,
    )
