# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What has to hold: the bars of this project, and the shapes of the papers' figures. Each plainly: met, or not."""

from __future__ import annotations

import dataclasses
import statistics

from .measure import Measured, Results
from .peers import Peer
from .plan import AGAIN, LIMITED_MIB

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Statement:
    text: str
    met: bool | None  # None: not measured
    seen: str

    def line(self) -> str:
        verdict = {True: "met", False: "NOT MET", None: "not measured"}[self.met]
        return f"{verdict}: {self.text}" + (f" ({self.seen})" if self.seen else "")


def at_least(
    text: str, ratios: dict[str, float], bar: float, reason: str = "", noise: dict[str, float] | None = None
) -> Statement:
    """All of the named ratios reach the bar. `noise`: the same of what is equal, which says what can be told apart."""
    if not ratios:
        return Statement(text, None, reason)
    worst = min(ratios, key=lambda name: ratios[name])
    reached = sum(ratio >= bar for ratio in ratios.values())
    seen = f"lowest {ratios[worst]:.2f} of {bar:g} at {worst}; {reached} of {len(ratios)} reach it"
    if noise:
        below = sum(ratio < bar for ratio in noise.values())
        seen += f"; normal against itself {min(noise.values()):.2f} to {max(noise.values()):.2f}, {below} below the bar"
    return Statement(text, reached == len(ratios), seen)


def _named(one: Measured, size: int, direction: str) -> str:
    p = one.point
    words = [direction, p.language, p.buffer, p.mapping, f"{p.ranks} ranks", f"{size // MIB} MiB"]
    return ", ".join(word for word in words if word)


def _by_normal(r: Results, part: str, method: str = "accelerated") -> dict[str, float]:
    """Medians over the rounds: in each, methods run one after the other, on a machine in the same mood."""
    ratios = {}
    for one in r.of(part, method=method):
        p = one.point
        other = r.of(part, method="normal", ranks=p.ranks, language=p.language, buffer=p.buffer, mapping=p.mapping)
        for size in r.sizes(one):
            for direction in ("write", "read"):
                normal = r.rates(other[0], size, direction, "median") if other else []
                pairs = zip(r.rates(one, size, direction, "median"), normal, strict=False)
                found = [rate / base for rate, base in pairs if base > 0]
                if found:
                    ratios[_named(one, size, direction)] = statistics.median(found)
    return ratios


def _of_limit(r: Results) -> dict[str, float]:
    """Of one stream to the disk; the file's close is in the limit's time, and so in the ranks'."""
    ratios = {}
    for one in r.of("disk", method="accelerated"):
        for size in r.sizes(one):
            limit = r.limits.get(size * one.point.ranks)
            if limit and size >= LIMITED_MIB * MIB:
                ratios[_named(one, size, "write")] = r.rate(one, size, "write_with_close", "median") / limit
    return ratios


def _transfers(r: Results) -> tuple[dict[str, float], dict[str, float], str]:
    """Staged copies by the slower of the two that they are made of; the driver's pageable ones likewise."""
    staged, by_pageable = {}, {}
    for one in r.of("transfer", method="cuda"):
        for row in (row for document in one.documents for row in document["sizes"] if row["bytes"] >= 16 * MIB):
            for direction in ("write", "read"):
                rates = {name: found["mib_s"]["median"] for name, found in row[direction].items()}
                name = f"{direction}, {row['bytes'] // MIB} MiB"
                staged[name] = rates["staged"] / min(rates["pinned"], row["host_copy_mib_s"]["median"])
                by_pageable[name] = rates["staged"] / rates["pageable"]
    return staged, by_pageable, r.reason("transfer", method="cuda")


def _languages(r: Results) -> dict[str, float]:
    ratios = {}
    for one in r.of("host", method="normal", language="c"):
        other = r.of("host", method="normal", language="fortran", ranks=one.point.ranks, buffer=one.point.buffer)
        for size in r.sizes(one):
            for direction in ("write", "read"):
                fortran = r.rate(other[0], size, direction, "median") if other and size >= 32 * MIB else 0
                if fortran > 0:
                    ratios[_named(one, size, direction)] = r.rate(one, size, direction, "median") / fortran
    return ratios


def _ipc(r: Results, found: list[Peer]) -> list[Statement]:
    tools = {"pipe": "perf, or lmbench (--lmbench)", "posix-memory": "ipc-bench (--ipc-bench)"}
    statements = []
    for method, known in tools.items():
        ratios = {f"{peer.tool} ({peer.what})": peer.ratio for peer in found if peer.method == method}
        problem = r.reason("ipc") or f"no tool to compare with is here: {known}"
        statements.append(at_least(f"ipc: {method} within 10% of well-known tools", ratios, 0.9, problem))
    return statements


def _by_fresh(r: Results) -> dict[str, float]:
    fresh, accelerated = _by_normal(r, "device", "fresh"), _by_normal(r, "device")
    return {name: ratio / fresh[name] for name, ratio in accelerated.items() if fresh.get(name)}


def statements(r: Results, found: list[Peer], preload: str) -> list[Statement]:
    absent = "" if preload else "no accelerating library (--preload)"
    why = {part: absent or r.reason(part) for part in ("host", "disk")}
    # Without a device, that is the reason, whatever else is absent.
    why_device = r.reason("device") or absent
    staged, by_pageable, no_device = _transfers(r)
    waits = {name: ratio for name, ratio in _by_normal(r, "host", "async").items() if name.startswith("write")}
    host_memory = "host memory, accelerated: 0.97 of normal"
    stream = "at least 0.95 of one stream to the disk, from 64 MiB per rank on, with fsync"
    waits_again = {name: ratio for name, ratio in _by_normal(r, "host", AGAIN).items() if name.startswith("write")}
    disk, host = _by_normal(r, "disk", AGAIN), _by_normal(r, "host", AGAIN)
    return [
        at_least(f"host memory, accelerated: {stream}", _of_limit(r), 0.95, why["disk"]),
        at_least(f"{host_memory}, with fsync", _by_normal(r, "disk"), 0.97, why["disk"], disk),
        at_least(f"{host_memory}, without fsync", _by_normal(r, "host"), 0.97, why["host"], host),
        at_least(
            "host memory, async: writes wait half as long as normal, without fsync", waits, 2, why["host"], waits_again
        ),
        *_ipc(r, found),
        at_least("transfer, 16 MiB on: staged 0.9 of the slower of pinned and host copy", staged, 0.9, no_device),
        at_least("transfer, 16 MiB on: staged not below the driver's pageable copy", by_pageable, 0.97, no_device),
        at_least("device memory: accelerated not below normal", _by_normal(r, "device"), 0.97, why_device),
        at_least("device memory: accelerated not below fresh buffers", _by_fresh(r), 0.97, why_device),
        at_least(
            "as in the paper, 32 MiB on: C not behind Fortran", _languages(r), 0.9, r.reason("host") or "no such sizes"
        ),
    ]
