# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one case on both sides, alternating, and compares files and times."""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from millrace.doctor import scheduling
from millrace.prefix import Prefix
from millrace.run import agents
from millrace.stats import reader as stats
from millrace.stats import report as stats_report
from millrace.tools.demo.cases import Case
from millrace.tools.session import RunFailed, output

STOCK, MILLRACE = "stock", "millrace"
_BY_CHANCE = 0.05  # how often pairs of equal programs may seem to agree
_PAIRS_OF_TEST = 5
RUN_BOUND_S = 120
_PACKAGES = str(Path(__file__).resolve().parents[3])


class Place(Protocol):
    """Where programs run: this machine, or virtual nodes."""

    title: str
    stock: str  # what the stock side is

    def file(self, side: str) -> Path: ...
    def launch(self, case: Case, file: Path) -> list[str]: ...
    def enter(self, command: list[str]) -> list[str]: ...
    def before(self) -> None: ...
    def environment(self, case: Case, side: str) -> dict[str, str]: ...
    def reports(self) -> Path: ...
    def same(self) -> bool: ...
    def clear(self) -> None: ...


@dataclass
class Run:
    """One run of one side."""

    side: str
    seconds: float
    bytes: int
    report: stats_report.FileReport | None = None


@dataclass
class Result:
    """The result of a case."""

    case: Case
    pairs: list[tuple[Run, Run]] = field(default_factory=list)
    identical: bool | None = None  # None: not compared
    error: str = ""

    @property
    def ratios(self) -> list[float]:
        """Stock's time divided by Millrace's, of each pair; above 1 = Millrace is faster."""
        return [stock.seconds / ours.seconds for stock, ours in self.pairs]

    @property
    def ratio(self) -> float | None:
        """Median over the pairs."""
        return statistics.median(self.ratios) if self.pairs else None

    def rate(self, side: int) -> float | None:
        """Median MiB/s of stock (0) or Millrace (1)."""
        if not self.pairs:
            return None
        return statistics.median(pair[side].bytes / pair[side].seconds / (1 << 20) for pair in self.pairs)

    def route(self) -> str:
        """The way that Millrace took, from its own report."""
        report = self.pairs[-1][1].report if self.pairs else None
        if report is None:
            return "no report" if self.pairs else ""
        reasons = report.reasons(numbers=False)
        if report.route != "direct" or not reasons:
            return report.route
        return f"direct: {reasons[0].removeprefix('direct: ')}"

    def document(self) -> dict[str, Any]:
        report = self.pairs[-1][1].report if self.pairs else None
        return {
            "name": self.case.name,
            "about": self.case.about,
            "mpi": self.case.family,
            "ranks": self.case.ranks,
            "skipped": self.case.missing or None,
            "error": self.error or None,
            "identical": self.identical,
            "ratio": self.ratio,
            "ratios": self.ratios,
            "verdict": verdict(self.ratios),
            "stock_mib_s": self.rate(0),
            "millrace_mib_s": self.rate(1),
            "pairs_s": [[a.seconds, b.seconds] for a, b in self.pairs],
            "route": self.route(),
            "report": report.summary() if report else None,
        }


def verdict(ratios: list[float]) -> str:
    """`faster` or `slower` if the pairs agree, else `same`; nothing for a single pair.

    Pairs agree if a sign test with 5% says so. Fewer than five pairs cannot pass it: all have to differ by a tenth, to
    the same side.
    """
    count = len(ratios)
    if count < 2:
        return ""
    if count < _PAIRS_OF_TEST:
        return "faster" if min(ratios) >= 1.1 else "slower" if max(ratios) <= 1 / 1.1 else "same"
    for word, agree in (("faster", sum(r > 1 for r in ratios)), ("slower", sum(r < 1 for r in ratios))):
        if sum(math.comb(count, k) for k in range(agree, count + 1)) / 2**count <= _BY_CHANCE:
            return word
    return "same"


def measured(output: str) -> tuple[float, int] | None:
    """Seconds from open to close and the bytes, from the JSON that a program printed; of writing and reading, if it did
    both."""
    begin = output.find("{")
    if begin < 0:
        return None
    try:
        document, _ = json.JSONDecoder().raw_decode(output[begin:])
    except json.JSONDecodeError:
        return None
    size = int(document.get("bytes", 0))
    if "seconds" in document:
        return float(document["seconds"]), size
    parts = [document, document.get("write") or {}, document.get("read") or {}]
    firsts = [part["repetitions"][0] for part in parts if part.get("repetitions")]
    if not firsts:
        return None
    seconds = [next(float(one[key]) for key in ("seconds", "total_s", "io_s") if key in one) for one in firsts]
    return sum(seconds), size * len(firsts)


def millrace(*words: str) -> list[str]:
    """This package's own command, which need not be installed. The program must not see where the package lies."""
    start = f"import sys; sys.path.insert(0, {_PACKAGES!r}); from millrace.__main__ import main; main()"
    return [sys.executable, *(["-S"] if words[0] == "run" else []), "-c", start, *words]


def plain_environment(side: str, prefix: Prefix) -> dict[str, str]:
    """The same variables for both sides, except Millrace's own."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MILLRACE") and name != "LD_PRELOAD"
    }
    if side == MILLRACE:
        # The demo waits until agents have left, which is after the times that it compares.
        environment |= {"MILLRACE_PREFIX": prefix.root, "MILLRACED_LINGER_MS": "200"}
    return environment


def _read_report(place: Path, file: Path, job: str) -> stats_report.FileReport | None:
    """From the file of this machine, or the folder with one for each node."""
    agents.end_agents(job)
    report = None
    for path in sorted(place.iterdir()) if place.is_dir() else [place] if place.exists() else []:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            document = stats.parse_line(line)
            if document is None or Path(str(document["path"])).name != file.name:
                continue
            report = report or stats_report.FileReport(str(document["path"]))
            (report.agents if document.get("kind") == stats_report.AGENT_KIND else report.clients).append(document)
        path.unlink()
    return report


def one(case: Case, side: str, place: Place, group: Path | None) -> Run:
    """Runs `case` once; the file stays for the comparison."""
    file = place.file(side)
    environment: Mapping[str, str] = place.environment(case, side)
    command = place.launch(case, file)
    job = f"demo-{os.getpid()}-{time.monotonic_ns()}"
    if side == MILLRACE:
        environment = {**environment, "MILLRACE_JOB": job, "MILLRACE_STATS": str(place.reports())}
        command = millrace("run", "--", *command)
    place.before()
    figures = measured(output(scheduling.wrap(group, place.enter(command)), RUN_BOUND_S, environment))
    if figures is None:
        raise RunFailed("printed no figures")
    report = _read_report(place.reports(), file, job) if side == MILLRACE else None
    return Run(side, figures[0], figures[1], report)


def pair(result: Result, place: Place, first: str, group: Path | None, tell: Any) -> None:
    """One run of each side, `first` first; compares their files. `tell(side)` is called before each run."""
    runs = {}
    try:
        place.clear()
        for side in (first, MILLRACE if first == STOCK else STOCK):
            tell(side)
            runs[side] = one(result.case, side, place, group)
        result.identical = place.same() and result.identical is not False
        result.pairs.append((runs[STOCK], runs[MILLRACE]))
        place.clear()
    except (RunFailed, OSError) as error:
        result.error = f"{error} (after {' and '.join(runs) or 'no side'} ended well)"
