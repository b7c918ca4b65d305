# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Measures one case: limit, stock, Millrace, limit, stock, Millrace, ... and judges it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import statistics
from typing import Callable

from .cases import MIB, Case
from .launch import Launcher, RunFailed


@dataclasses.dataclass
class Result:
    case: Case
    size: int = 0
    stock: list[float] = dataclasses.field(default_factory=list)  # MiB/s, one of each pair
    millrace: list[float] = dataclasses.field(default_factory=list)
    limits: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    problem: str = ""

    @property
    def limit(self) -> float | None:
        """The best method's median: what the storage gave to one stream during this case."""
        return max((statistics.median(v) for v in self.limits.values() if v), default=None)

    def fraction(self, rates: list[float]) -> float | None:
        return statistics.median(rates) / self.limit if rates and self.limit else None

    @property
    def ratios(self) -> list[float]:
        return [m / s for s, m in zip(self.stock, self.millrace, strict=False)]

    @property
    def verdict(self) -> str:
        if self.problem:
            return "failed"
        if not self.ratios:
            return "stock only"
        short = statistics.median(self.ratios) < self.case.ratio_bar
        fraction = self.fraction(self.millrace)
        if self.case.fraction_bar is not None and (fraction is None or fraction < self.case.fraction_bar):
            short = True
        return "short" if short else "pass"

    def to_json(self) -> dict:
        document = dataclasses.asdict(self.case)
        document.update(
            name=self.case.name,
            size=self.size,
            stock_mib_s=self.stock,
            millrace_mib_s=self.millrace,
            limits_mib_s=self.limits,
            limit_mib_s=self.limit,
            ratios=self.ratios,
            stock_fraction=self.fraction(self.stock),
            millrace_fraction=self.fraction(self.millrace),
            verdict=self.verdict,
            problem=self.problem,
        )
        return document


def clean(directory: pathlib.Path, stem: str) -> None:
    """A run that was ended by force leaves its files."""
    for path in directory.glob(stem + "*"):
        path.unlink(missing_ok=True)


def measure(
    case: Case,
    launcher: Launcher,
    directory: pathlib.Path,
    pairs: int,
    repetitions: int,
    stock_only: bool,
    tell: Callable[[str], None],
) -> Result:
    result = Result(case)
    stem = f"millrace-bars-{os.getpid()}"
    path = str(directory / stem)

    def once(accelerated: bool) -> float:
        arguments = [*case.arguments, "-i", str(repetitions), "-o", path]
        document = launcher.run(case.program, case.mpi, case.ranks, arguments, accelerated)
        result.size = document["bytes"]
        return document[case.metric[0]][case.metric[1]]

    try:
        for pair in range(pairs):
            result.stock.append(once(False))
            if not stock_only:
                result.millrace.append(once(True))
            if case.fraction_bar is not None:
                for method, rate in launcher.limit(path + ".limit", result.size, case.sync, repetitions).items():
                    result.limits.setdefault(method, []).append(rate)
            tell(f"{case.name}: pair {pair + 1} of {pairs}")
    except RunFailed as reason:
        result.problem = str(reason)
    finally:
        clean(directory, stem)
    return result


def size_text(size: int) -> str:
    return f"{size / MIB:.0f} MiB" if size >= MIB else f"{size} B"
