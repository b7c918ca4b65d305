# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes of the paper's curves, each as a comparison that holds here or does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from .cases import NETWORKS, WITHOUT_BUFFER

Key = tuple[str, str, str, int]  # figure, network, label, buffer
NOISE = 0.95  # of two medians on a shared machine
SLOW, FAST = "1gbit", ""


@dataclasses.dataclass
class Curves:
    """What was measured, MiB/s; None where a point is not there."""

    rates: dict[Key, float]
    disk: float  # MiB/s of one sequential stream on the slow disk

    def at(self, figure: str, network: str, label: str, buffer: int) -> float | None:
        return self.rates.get((figure, network, label, WITHOUT_BUFFER if label == "immediate" else buffer))

    def buffers(self, figure: str, network: str, label: str) -> list[float]:
        return [rate for key, rate in sorted(self.rates.items()) if key[:3] == (figure, network, label)]

    def least(self) -> int:
        return min((key[3] for key in self.rates if key[3]), default=0)

    def most(self) -> int:
        return max((key[3] for key in self.rates), default=0)


@dataclasses.dataclass
class Check:
    text: str
    holds: bool | None  # None: points are missing
    seen: str

    def line(self) -> str:
        word = "not measured" if self.holds is None else "pass" if self.holds else "fail"
        return f"{word}: {self.text}" + (f" ({self.seen})" if self.seen else "")


def _compare(text: str, a: float | None, b: float | None, factor: float = NOISE) -> Check:
    """Holds if a >= factor * b."""
    if a is None or b is None:
        return Check(text, None, "")
    return Check(text, a >= factor * b, f"{a:.1f} against {b:.1f} MiB/s")


def _figure5(c: Curves) -> list[Check]:
    found = []
    for figure, size in (("5a", "1 MiB"), ("5b", "4 MiB")):
        for network, name in NETWORKS.items():
            for label in ("sort", "journal"):
                rates = c.buffers(figure, network, label)
                text = f"5, {size}, {name}: the sort buffer matters little to {label} (least at least 0.75 of best)"
                found.append(_compare(text, min(rates, default=None), max(rates, default=None), 0.75))
    for network, name in NETWORKS.items():
        best = max((r for label in ("sort", "journal") for r in c.buffers("5b", network, label)), default=None)
        found.append(_compare(f"5, 4 MiB, {name}: close to the disk's own rate", best, c.disk, 0.85))
        immediate = c.at("5b", network, "immediate", 0)
        found.append(_compare(f"5, 4 MiB, {name}: immediate close to what sorts", immediate, best, 0.75))
    return found


def _figure6(c: Curves) -> list[Check]:
    found = []
    least, most = c.least(), c.most()
    for figure, blocks in (("6a", "64 KiB blocks"), ("6b", "4 MiB blocks")):
        for network, name in NETWORKS.items():
            where = f"6, {blocks}, {name}"
            journal, sort = c.at(figure, network, "journal", least), c.at(figure, network, "sort", least)
            found.append(_compare(f"{where}: journal is not behind sort with the smallest buffer", journal, sort))
            found.append(_compare(f"{where}: journal at the disk's rate", max(c.buffers(figure, network, "journal"),
                                                                              default=None), c.disk, 0.85))  # fmt: skip
            immediate = c.at(figure, network, "immediate", 0)
            found.append(_compare(f"{where}: sort with the largest buffer is not behind immediate, which seeks",
                                  c.at(figure, network, "sort", most), immediate))  # fmt: skip
        gains = []
        for network in (SLOW, FAST):
            small, large = c.at(figure, network, "sort", least), c.at(figure, network, "sort", most)
            gains.append(large / small if small and large else None)
        text = f"6, {blocks}: the buffer matters more to sort on the slow network"
        if None in gains:
            found.append(Check(text, None, ""))
        else:
            seen = f"largest by smallest buffer {gains[0]:.2f} on 1 Gb/s, {gains[1]:.2f} unshaped"
            found.append(Check(text, gains[0] >= gains[1] * NOISE, seen))
    return found


def _figure7(c: Curves) -> list[Check]:
    found = []
    least, most = c.least(), c.most()
    for network, name in NETWORKS.items():
        at = lambda label, size, network=network: c.at("7", network, label, size)  # noqa: E731
        where = f"7, fine grain, {name}"
        found.append(_compare(f"{where}: journal with merging close to the disk's rate",
                              max(c.buffers("7", network, "journal(M)"), default=None), c.disk, 0.85))  # fmt: skip
        found.append(_compare(f"{where}: merging does not harm journal", at("journal(M)", least), at("journal", least)))
        found.append(_compare(f"{where}: merging helps sort with the smallest buffer",
                              at("sort(M)", least), at("sort", least), 1.05))  # fmt: skip
        found.append(_compare(f"{where}: sort without merging stays behind, even with the largest buffer",
                              at("sort(M)", most), at("sort", most), 1.05))  # fmt: skip
        found.append(_compare(f"{where}: journal with merging ahead of immediate, which seeks",
                              at("journal(M)", least), at("immediate", 0), 1.05))  # fmt: skip
    return found


def _figures89(c: Curves) -> list[Check]:
    found = []
    least, most = c.least(), c.most()
    for kind in ("a", "b"):
        at = lambda label, size, kind=kind: c.at(f"8{kind}", SLOW, label, size)  # noqa: E731
        where = f"8, BT-IO simple, for class {kind.upper()}"
        found.append(_compare(f"{where}: merging helps sort with the smallest buffer",
                              at("sort(M)", least), at("sort", least), 1.05))  # fmt: skip
        found.append(_compare(f"{where}: merging does not harm journal", at("journal(M)", least), at("journal", least)))
        found.append(_compare(f"{where}: with the largest buffer sort is as good as journal, both with merging",
                              at("sort(M)", most), at("journal(M)", most), 0.85))  # fmt: skip
    for kind in ("a", "b"):
        at = lambda label, size, kind=kind: c.at(f"9{kind}", SLOW, label, size)  # noqa: E731
        where = f"9, BT-IO full, for class {kind.upper()}"
        found.append(_compare(f"{where}: sort gains from a larger buffer", at("sort", most), at("sort", least)))
        for label in ("sort", "journal"):
            merged, plain = at(f"{label}(M)", most), at(label, most)
            low, high = (None, None) if merged is None or plain is None else (min(merged, plain), max(merged, plain))
            found.append(_compare(f"{where}: merging changes {label} little", low, high, 0.75))
    return found


def checks(curves: Curves) -> list[Check]:
    parts: list[Callable[[Curves], list[Check]]] = [_figure5, _figure6, _figure7, _figures89]
    return [check for part in parts for check in part(curves)]
