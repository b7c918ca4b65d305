# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace compare A B`: which figures differ by more than their noise; with `--sites`, two machines side by side.

For every figure that both sessions have: the ratio B / A of the medians of the samples, with a 95 % bootstrap interval
(fixed seed: the same sessions give the same answer). A figure is better or worse only if the whole interval lies beyond
the tolerance. Few samples say little: below three the figure is shown and never judged.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from millrace.run.command import EXIT_BAD_USE, tell
from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.export import SCHEMA as EXPORT_SCHEMA
from millrace.tools.evaluate.session import PASSED, Session, read_json

BETTER, WORSE, SAME, UNJUDGED = "better", "worse", "same", "too few samples"
_ROUNDS = 2000
_FEWEST = 3


@dataclass(frozen=True)
class Difference:
    """One figure in both sessions; above 1 the ratio is in favour of B."""

    case: str
    figure: str
    unit: str
    a: float
    b: float
    ratio: float
    low: float
    high: float
    verdict: str


def interval(a: Sequence[float], b: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """The interval of 95 % of the ratios of medians of resampled b and a."""
    source = random.Random(seed)
    ratios = sorted(
        statistics.median(source.choices(b, k=len(b))) / statistics.median(source.choices(a, k=len(a)))
        for _ in range(_ROUNDS)
    )
    return ratios[int(0.025 * _ROUNDS)], ratios[int(0.975 * _ROUNDS) - 1]


def judge(low: float, high: float, tolerance: float) -> str:
    if low > 1 + tolerance:
        return BETTER
    return WORSE if high < 1 - tolerance else SAME


def difference(case: str, a: dict[str, Any], b: dict[str, Any], tolerance: float) -> Difference | None:
    """None if a figure is not above zero, because a ratio has no meaning then."""
    samples = [[float(x) for x in side["samples"]] or [float(side["value"])] for side in (a, b)]
    if min(min(side) for side in samples) <= 0:
        return None
    medians = [statistics.median(side) for side in samples]
    few = min(len(side) for side in samples) < _FEWEST
    first, second = (samples[1], samples[0]) if a.get("lower_is_better") else (samples[0], samples[1])
    ratio = statistics.median(second) / statistics.median(first)
    low, high = (ratio, ratio) if few else interval(first, second)
    verdict = UNJUDGED if few else judge(low, high, tolerance)
    return Difference(case, a["name"], a["unit"], medians[0], medians[1], ratio, low, high, verdict)


@dataclass(frozen=True)
class Side:
    """One of the two sessions."""

    name: str
    machine: dict[str, Any]
    document: dict[str, Any]  # session.json
    cases: dict[str, dict[str, dict[str, Any]]]  # case -> figure name -> figure, of cases that passed
    limits: frozenset[str]  # the cases that measure limits


def load(path: Path) -> Side:
    """A session's folder, or its JSON export."""
    if path.is_dir():
        session = Session.open(path)
        name, machine, document, results = session.name, session.machine, session.document, session.results()
    else:
        whole = read_json(path, "an exported session")
        if whole.get("schema") != EXPORT_SCHEMA:
            raise EvaluationError(f"{path} is neither a session's folder nor a file of --format json")
        document, results = whole["session"], whole["results"]
        name, machine = str(document.get("name") or path.stem), document.get("machine") or {}
    passed = [r for r in results if r["status"] == PASSED]
    found = {r["case"]["name"]: {f["name"]: f for f in r.get("figures", [])} for r in passed}
    if not found:
        raise EvaluationError(f"{path}: no case of this session has passed; there is nothing to compare")
    limits = frozenset(r["case"]["name"] for r in passed if r["case"].get("limit"))
    return Side(name, machine, document, found, limits)


def compare(a: Path, b: Path, tolerance: float) -> tuple[list[Difference], list[str]]:
    """Differences, worst first, and the cases that only one of the two has."""
    first, second = load(a).cases, load(b).cases
    found = []
    for case in first.keys() & second.keys():
        for name in first[case].keys() & second[case].keys():
            one = difference(case, first[case][name], second[case][name], tolerance)
            if one is not None:
                found.append(one)
    alone = sorted(first.keys() ^ second.keys())
    if not found:
        raise EvaluationError(f"{a} and {b} have no figure in common")
    return sorted(found, key=lambda d: (d.ratio, d.case, d.figure)), alone


def run(a: Path, b: Path, tolerance: float, everything: bool, as_json: bool) -> int:
    """The exit status: 0 no figure is worse in B, 1 some figure is, 2 the two cannot be compared."""
    try:
        found, alone = compare(a, b, tolerance)
    except EvaluationError as error:
        tell(str(error))
        return EXIT_BAD_USE
    worse = [d for d in found if d.verdict == WORSE]
    if as_json:
        print(json.dumps({"schema": "millrace.compare/1", "differences": [vars(d) for d in found], "alone": alone}))
        return 1 if worse else 0
    shown = [d for d in found if everything or d.verdict in (BETTER, WORSE)]
    table = Table("case", "figure", "A", "B", "unit", "B / A", "95 %", "")
    colour = {BETTER: "green", WORSE: "red"}
    for d in shown:
        style = colour.get(d.verdict, "dim")
        bounds = f"{d.low:.2f} to {d.high:.2f}"
        row = (d.case, d.figure, f"{d.a:.4g}", f"{d.b:.4g}", d.unit, f"{d.ratio:.2f}", bounds)
        table.add_row(*row, f"[{style}]{d.verdict}[/]")
    console = Console()
    console = console if console.is_terminal else Console(width=150)
    if shown:
        console.print(table)
    better = sum(d.verdict == BETTER for d in found)
    console.print(
        f"{len(found)} figures: {len(worse)} worse, {better} better beyond {tolerance:.0%}; " "ratios above 1 favour B",
        highlight=False,
    )
    if alone:
        console.print(f"only in one of the two: {', '.join(alone)}", highlight=False, markup=False)
    return 1 if worse else 0
