# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The papers' published figures, and the model's answer to each."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.tools.model import engine, engines, filesystem, machine, ring
from millrace.units import GIB, parse_bytes


@dataclass(frozen=True)
class Row:
    """A published value or range, and the model's answer."""

    what: str
    unit: str
    text: str
    low: float
    high: float
    within: float
    predicted: bool
    model: float

    @property
    def miss(self) -> float:
        """The relative error against the nearest published value; negative: below."""
        near = min(max(self.model, self.low), self.high)
        return self.model / near - 1

    @property
    def holds(self) -> bool:
        return abs(self.miss) <= self.within


@functools.cache
def document() -> dict[str, Any]:
    import yaml

    return yaml.safe_load((Path(__file__).parent / "published.yaml").read_text(encoding="utf-8"))


# --- Engines ---


def of_engines() -> list[Row]:
    part = document()["engines"]
    questions = [
        engines.Question(v["method"], v["direction"], v["ranks"], GIB, mapping=tuple(v.get("mapping", ())))
        for v in part["values"]
    ]
    plans = [engines.plan(machine.find(v["machine"]), q) for v, q in zip(part["values"], questions, strict=True)]
    found = []
    for v, question, answer in zip(part["values"], questions, engine.ask(plans), strict=True):
        what = f"{machine.find(v['machine']).name}, {v['method']}, {v['direction']}, {v['ranks']} ranks"
        rate = engines.gb_per_s(question, answer)
        predicted = v.get("predicted", False)
        found.append(Row(what, "GB/s", v["text"], v["low"], v["high"], part["within"], predicted, rate))
    return found


# --- The ring ---


@dataclass(frozen=True)
class Point:
    figure: str
    network: str
    strategy: str
    buffer_mib: int  # 0: it has none
    behind: str = "disk"

    def question(self) -> ring.Question:
        return ring.Question(
            pattern(self.figure), self.strategy, self.buffer_mib or 1024, self.network, behind=self.behind
        )


def figures() -> dict[str, dict[str, Any]]:
    return document()["ring"]["figures"]


def pattern(figure: str) -> ring.Pattern:
    of = figures()[figure]
    if "mode" in of:
        return ring.Pattern(mode=of["mode"], size_class=of["size_class"])
    return ring.Pattern(parse_bytes(of["transfer"]), parse_bytes(of["block"]), of["segments"])


def points(
    figure: str, strategies: Iterable[str] = (), networks: Iterable[str] = (), behind: str = "disk"
) -> list[Point]:
    of = figures()[figure]
    return [
        Point(figure, network, strategy, buffer, behind)
        for network in networks or of["networks"]
        for strategy in strategies or of["strategies"]
        for buffer in ((0,) if strategy == "immediate" else ring.BUFFERS_MIB)
    ]


class Curves:
    """Answers to points; each point is asked once."""

    def __init__(self) -> None:
        self._t2k = machine.find("t2k")
        self.answers: dict[Point, dict[str, int]] = {}

    def ask(self, wanted: Iterable[Point]) -> None:
        fresh = [p for p in dict.fromkeys(wanted) if p not in self.answers]
        plans = [ring.plan(self._t2k, p.question()) for p in fresh]
        self.answers.update(zip(fresh, engine.ask(plans) if plans else [], strict=True))

    def at(self, point: Point) -> float:
        self.ask([point])
        return ring.result(point.question(), self.answers[point])


def of_ring(curves: Curves) -> list[Row]:
    part = document()["ring"]
    found = []
    for v in part["values"]:
        wanted = points(v["figure"], v["strategies"], v.get("networks", ()), v.get("behind", "disk"))
        curves.ask(wanted)
        best = max if v["of"] == "best" else min
        rate = best(curves.at(p) for p in wanted)
        what = f"figure {v['figure']}, {figures()[v['figure']]['title']}: {v['of']} of {', '.join(v['strategies'])}"
        unit = pattern(v["figure"]).unit
        found.append(Row(what, unit, v["text"], v["low"], v["high"], part["within"], False, rate))
    return found


# --- Oakleaf-FX ---


def of_file_system() -> list[Row]:
    part = document()["file-system"]
    found = []
    for v in part["values"]:
        question = filesystem.Question(v["method"], v["ranks"], parse_bytes(v["size"]), v["per_node"])
        of = machine.find(v["machine"])
        answer = engine.ask([filesystem.plan(of, question)])[0]
        rate = filesystem.gb_per_s(question, answer) * 1e9 / (1 << 20)
        what = f"{of.name}, {v['method']}, {v['ranks']:,} ranks"
        found.append(Row(what, "MiB/s", v["text"], v["low"], v["high"], part["within"], False, rate))
    return found
