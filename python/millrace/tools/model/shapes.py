# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes of the papers' curves: each statement of the papers is a comparison that the model passes or fails."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.tools.model import engine, engines, machine
from millrace.tools.model.published import Curves, Point, figures, points
from millrace.tools.model.ring import BUFFERS_MIB
from millrace.units import GIB, KIB, MIB

SIZES = (MIB, 8 * MIB, 32 * MIB, 128 * MIB, 512 * MIB, GIB)


@dataclass(frozen=True)
class Shape:
    text: str
    holds: bool
    seen: str


def _less(text: str, low: float, high: float, factor: float = 1.0) -> Shape:
    """A statement that holds if low <= factor * high."""
    return Shape(text, low <= factor * high, f"{low:.4g} and {high:.4g}")


class _Engines:
    """Answers of one machine in GB/s; each question is asked once."""

    def __init__(self, name: str) -> None:
        self._machine = machine.find(name)
        self._known: dict[engines.Question, float] = {}

    def __call__(self, method: str, direction: str, ranks: int, size: int = GIB, **more: object) -> float:
        question = engines.Question(method, direction, ranks, size, **more)  # type: ignore[arg-type]
        if question not in self._known:
            answer = engine.ask([engines.plan(self._machine, question)])[0]
            self._known[question] = engines.gb_per_s(question, answer)
        return self._known[question]


def of_engines() -> list[Shape]:
    a2, a4, a8 = (_Engines(f"a300-{n}") for n in (2, 4, 8))
    small = [a2("normal", "read", ranks, MIB) for ranks in (4, 8, 16)]
    buffers = [a2("normal", "read", 16, GIB, buffer=size) for size in (8 * KIB, 512 * KIB)]
    found = [
        _less("A300-2, normal: 32 MB files reach two thirds of what 1 GB files do",
              a2("normal", "read", 16), a2("normal", "read", 16, 32 * MIB), 1.5),
        _less("A300-2, normal: 1 MB files are limited by each call, about 2 GB/s with 16 ranks",
              abs(small[2] - 2), 0.5),
        _less("... and fall as ranks are added to an engine, from 4 to 8", small[1], small[0], 0.9),
        _less("A300-2: the size of the buffer matters little", abs(buffers[0] - buffers[1]), buffers[1], 0.05),
        _less("A300-2: C is ahead of Fortran", a2("normal", "read", 16, language="fortran"), a2("normal", "read", 16)),
        _less("one engine, normal writes: 8 ranks are hardly better than 4",
              a2("normal", "write", 8), a2("normal", "write", 4), 1.1),
        _less("A300-2, 16 ranks: accelerated is about 4 times normal (3 to 5)",
              abs(a2("accelerated", "read", 16) / a2("normal", "read", 16) - 4), 1),
        _less("A300-4, 24 and 32 ranks, accelerated: below 40 GB/s", a4("accelerated", "read", 32), 36),
        _less("A300-4, accelerated write: from 24 to 32 ranks less is gained than from 16 to 24",
              a4("accelerated", "write", 32) - a4("accelerated", "write", 24),
              a4("accelerated", "write", 24) - a4("accelerated", "write", 16)),
        _less("A300-4: offload reads faster than normal", a4("normal", "read", 32), a4("offload", "read", 32)),
        _less("A300-4: offload writes slower than normal", a4("offload", "write", 32), a4("normal", "write", 32)),
        _less("A300-8, accelerated: 16 and 32 ranks are the same, one switch",
              abs(a8("accelerated", "read", 16) / a8("accelerated", "read", 32) - 1), 0.02),
        _less("A300-8, accelerated: 64 ranks have twice as much as 32, two switches",
              1.8 * a8("accelerated", "read", 32), a8("accelerated", "read", 64)),
        _less("A300-8, normal: much is gained from 32 to 64 ranks",
              1.5 * a8("normal", "read", 32), a8("normal", "read", 64)),
        _less("A300-8, 16 ranks: engines of two switches have twice as much as those of one",
              1.8 * a8("accelerated", "read", 16, mapping=(2, 3)), a8("accelerated", "read", 16, mapping=(3, 4))),
        _less("A300-4 is ahead of A300-8 with as many ranks", a8("normal", "read", 32), a4("normal", "read", 32)),
    ]  # fmt: skip
    for name, of in (("A300-2", a2), ("A300-4", a4), ("A300-8", a8)):
        rates = [of("accelerated", "read", 16, size) for size in SIZES]
        falls = sum(later < 0.99 * earlier for earlier, later in zip(rates, rates[1:], strict=False))
        found.append(_less(f"{name}, accelerated: the larger the file, the better", falls, 0))
    return found


class _Ring:
    def __init__(self, curves: Curves) -> None:
        self._curves = curves

    def __call__(self, figure: str, network: str, strategy: str, buffer: int) -> float:
        return self._curves.at(Point(figure, network, strategy, 0 if strategy == "immediate" else buffer))

    def all(self, figure: str, network: str, strategies: list[str]) -> list[float]:
        wanted = points(figure, strategies, [network])
        self._curves.ask(wanted)
        return [self._curves.at(point) for point in wanted]


def of_ring(curves: Curves, chosen: tuple[str, ...] = ("5", "6", "7", "8a", "8b", "9a", "9b")) -> list[Shape]:
    at = _Ring(curves)
    parts = {"5": _figure5, "6": _figure6, "7": _figure7, "8a": _figure8a, "8b": _figure8b}
    parts |= {"9a": lambda at: _figure9(at, "9a", 64), "9b": lambda at: _figure9(at, "9b", 256)}
    return [shape for name in chosen for shape in parts[name](at)]


def _figure5(at: _Ring) -> list[Shape]:
    found = []
    for network in ("ethernet", "myrinet"):
        for figure in ("5a", "5b"):
            for strategy in ("sort", "journal"):
                rates = at.all(figure, network, [strategy])
                text = f"{figure}, {network}: the sort buffer matters little to {strategy} (least 0.75 of best)"
                found.append(_less(text, 0.75 * max(rates), min(rates)))
        immediate, sort = at("5b", network, "immediate", 0), at("5b", network, "sort", 1024)
        found.append(_less(f"5b, {network}: immediate is close to sort (0.85)", 0.85 * sort, immediate))
        found.append(_less(f"5b, {network}: PVFS2 with four disks is ahead", sort, figures()["5b"]["peer"]))
    gains = [at("5a", "myrinet", s, 1024) / at("5a", "ethernet", s, 1024) for s in ("immediate", "sort")]
    found.append(_less("5a: the network matters to immediate", 1.01, gains[0]))
    return found


def _figure6(at: _Ring) -> list[Shape]:
    found = []
    for network in ("ethernet", "myrinet"):
        least = min(at.all("6a", network, ["journal"]))
        found.append(_less(f"6a, {network}: journal is ahead of PVFS2", figures()["6a"]["peer"], least))
        for figure in ("6a", "6b"):
            small = [at(figure, network, s, BUFFERS_MIB[0]) for s in ("sort", "journal")]
            found.append(
                _less(f"{figure}, {network}: with 16 MiB journal is not behind sort", small[0], small[1], 1.01)
            )
    for figure in ("6a", "6b"):
        gains = [at(figure, n, "sort", 1024) / at(figure, n, "sort", 16) for n in ("myrinet", "ethernet")]
        found.append(_less(f"{figure}: the buffer matters more to sort on Ethernet", 1.05 * gains[0], gains[1]))
    return found


def _figure7(at: _Ring) -> list[Shape]:
    found = []
    for network in ("ethernet", "myrinet"):
        best = max(at.all("7", network, ["journal", "journal(M)"]))
        found.append(_less(f"7, {network}: journal is far ahead of PVFS2", 5 * figures()["7"]["peer"], best))
        found.append(_less(f"7, {network}: merging helps journal a little",
                           at("7", network, "journal", 64), at("7", network, "journal(M)", 64)))  # fmt: skip
        found.append(_less(f"7, {network}: sort without merging stays behind with 1,024 MiB, too",
                           at("7", network, "sort", 1024), at("7", network, "sort(M)", 1024), 0.9))  # fmt: skip
    return found


def _figure8a(at: _Ring) -> list[Shape]:
    peer = figures()["8a"]["peer"]
    least = min(at.all("8a", "ethernet", ["immediate", "journal", "journal(M)"]))
    best = max(at.all("8a", "ethernet", ["sort(M)", "journal(M)"]))
    return [
        _less("8a: all but sort are ahead of PVFS2", peer, least),
        _less("8a: the best is 25.7 times PVFS2 (within 20 %)", abs(best / peer / 25.7 - 1), 0.2),
        *_merging(at, "8a"),
    ]


def _figure8b(at: _Ring) -> list[Shape]:
    peer = figures()["8b"]["peer"]
    best = max(at.all("8b", "ethernet", ["sort(M)", "journal(M)"]))
    return [
        _less("8b: sort with a large buffer is ahead of PVFS2, too", peer, at("8b", "ethernet", "sort", 1024)),
        _less("8b: the best is 17.7 times PVFS2 (within 20 %)", abs(best / peer / 17.7 - 1), 0.2),
        *_merging(at, "8b"),
    ]


def _merging(at: _Ring, figure: str) -> list[Shape]:
    return [
        _less(f"{figure}: without merging, {s} is clearly behind", at(figure, "ethernet", s, 1024),
              at(figure, "ethernet", f"{s}(M)", 1024), 0.95)
        for s in ("sort", "journal")
    ]  # fmt: skip


def _figure9(at: _Ring, figure: str, enough: int) -> list[Shape]:
    found = []
    rates = {size: at(figure, "ethernet", "sort", size) for size in BUFFERS_MIB}
    worse = max(rates[size] for size in BUFFERS_MIB if size < enough)
    equal = [rates[size] for size in BUFFERS_MIB if size >= enough]
    found.append(_less(f"{figure}: sort suffers from a buffer that overflows, below {enough} MiB", worse, min(equal)))
    found.append(_less(f"{figure}: ... and a larger one than that gains nothing", max(equal), min(equal), 1.02))
    best = max(at.all(figure, "ethernet", ["sort", "journal", "sort(M)", "journal(M)"]))
    found.append(_less(f"{figure}: PVFS2 is ahead of the best, by less than twice", best, figures()[figure]["peer"]))
    for strategy in ("sort", "journal"):
        plain, merged = (at(figure, "ethernet", s, 1024) for s in (strategy, f"{strategy}(M)"))
        found.append(_less(f"{figure}: merging changes {strategy} little", abs(plain / merged - 1), 0.05))
    return found
