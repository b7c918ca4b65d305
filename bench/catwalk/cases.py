# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments: figures 5 to 9 of the paper, made smaller by one rule.

The paper has 16 nodes of 16 ranks; here there are 4 of 4. With `scale` S, each node has 1/S of the bytes that a
node had there, and sort buffers are 1/S of theirs, so that they overflow as often. Sizes of pieces and blocks stay;
segments (BT-IO: outputs) are fewer. In figure 5, which has one segment, each rank writes what it wrote there. Figure 6,
by far the largest, has a quarter of that once more, figure 7 half: so much less are their bytes for their buffers.
BT-IO is class W throughout: with 16 ranks its rows have 240 bytes, as the paper's class B with 256 ranks (240 to
280; class A 160).
"""

from __future__ import annotations

import dataclasses
import fnmatch

NODES, PER_NODE = 4, 4
PAPER_PER_NODE = 16
BUFFERS_MIB = (16, 64, 256, 1024)  # as the paper's; what is set is this by the scale
NETWORKS = {"1gbit": "1 Gb/s", "": "unshaped"}
STRATEGIES = {
    "immediate": ("immediate", False),
    "sort": ("sort", False),
    "journal": ("journal", False),
    "sort(M)": ("sort", True),
    "journal(M)": ("journal", True),
}
WITHOUT_BUFFER = 0  # the buffer of a point that has none


@dataclasses.dataclass(frozen=True)
class Figure:
    key: str
    title: str
    program: str
    pattern: tuple[str, ...]
    count: int  # segments, or outputs, of the paper
    merge: bool  # whether strategies with merging are in it
    networks: tuple[str, ...] = tuple(NETWORKS)
    scaled: bool = True
    less: int = 1  # times
    files: int = 2  # of a run, the last of which counts: the first one meets agents that have yet to start

    def arguments(self, scale: int, label: str = "") -> list[str]:
        if label == "immediate" and self.program == "btio":
            return [*self.pattern, "--steps", "5"]  # a seek for each row: the rate is the same, the time is not
        if self.program == "btio":
            # Bytes of a node: 1/S of the paper's, whose file was cut by 16 nodes and not by 4.
            return [*self.pattern, "--steps", str(5 * max(1, self.count // scale))]
        if not self.scaled:
            return [*self.pattern, "-s", str(self.count)]
        return [*self.pattern, "-s", str(max(1, self.count * (PAPER_PER_NODE // PER_NODE) // scale // self.less))]

    def labels(self) -> list[str]:
        return [label for label, (_, merged) in STRATEGIES.items() if self.merge or not merged]


def _ior(transfer: str, block: str) -> tuple[str, ...]:
    return ("-a", "MPIIO", "-w", "-W", "-t", transfer, "-b", block)


def _btio(mode: str) -> tuple[str, ...]:
    return ("-C", "W", "-m", mode, "--verify", "plain", "--meet", "neighbours")


# An output of class W has 0.53 MiB; the paper's files were 400 MiB (A) and 1.6 GiB (B) on 16 nodes, here they are on
# 4: as many outputs as make a node's share of the same size.
_OUTPUTS_A, _OUTPUTS_B = 190, 768
FIGURES = (
    Figure("5a", "1 MiB per rank", "ior", _ior("1m", "1m"), 1, False, scaled=False),
    Figure("5b", "4 MiB per rank", "ior", _ior("4m", "4m"), 1, False, scaled=False),
    Figure("6a", "32 KiB pieces, 64 KiB blocks", "ior", _ior("32k", "64k"), 1024, False, less=4, files=1),
    Figure("6b", "32 KiB pieces, 4 MiB blocks", "ior", _ior("32k", "4m"), 16, False, less=4, files=1),
    Figure("7", "fine grain: 4 KiB pieces, 16 KiB blocks", "ior", _ior("4k", "16k"), 1024, True, less=2, files=1),
    Figure("8a", "BT-IO simple, for class A", "btio", _btio("simple"), _OUTPUTS_A, True, ("1gbit",), files=1),
    Figure("8b", "BT-IO simple, for class B", "btio", _btio("simple"), _OUTPUTS_B, True, ("1gbit",), files=1),
    Figure("9a", "BT-IO full, for class A", "btio", _btio("full"), _OUTPUTS_A, True, ("1gbit",)),
    Figure("9b", "BT-IO full, for class B", "btio", _btio("full"), _OUTPUTS_B, True, ("1gbit",)),
)


@dataclasses.dataclass(frozen=True)
class Point:
    """One figure's curve at one sort buffer."""

    figure: Figure
    network: str
    label: str
    buffer_mib: int = WITHOUT_BUFFER  # the paper's

    @property
    def name(self) -> str:
        buffer = f", {self.buffer_mib} MiB" if self.buffer_mib else ""
        return f"{self.figure.key} {NETWORKS[self.network]} {self.label}{buffer}"

    def settings(self, scale: int) -> dict[str, str]:
        strategy, merged = STRATEGIES[self.label]
        buffer_kib = max(1024, self.buffer_mib * 1024 // scale)  # the least that there is
        return {
            "MILLRACE_STRATEGY": strategy,
            "MILLRACE_MERGE": str(int(merged)),
            "MILLRACE_SORT_BUFFER": f"{buffer_kib}KiB" if self.buffer_mib else "1MiB",
            "MILLRACE_TOPOLOGY": "ring",
            "MILLRACE_FILE_SERVERS": "1",
            "MILLRACE_DURABILITY": "disk",
            "MILLRACE_DIRECT_ABOVE": "1GiB",
        }


# What shows most comes first: a run may be cut short.
_ORDER = (("7",), ("8a", "8b", "9a", "9b"), ("5a", "5b", "6a", "6b"))


def phases(networks: list[str], figures: list[str], buffers: list[int]) -> list[tuple[str, list[Point]]]:
    """Networks and the points that share a cluster, in the order in which they are run."""
    found = []
    for keys in _ORDER:
        for network in networks:
            chosen = [p for p in points(network, figures, buffers) if p.figure.key in keys]
            found += [(network, chosen)] if chosen else []
    return found


def points(network: str, figures: list[str], buffers: list[int]) -> list[Point]:
    """Of one network: they share a cluster."""
    found = []
    for figure in FIGURES:
        if network not in figure.networks or not any(fnmatch.fnmatch(figure.key, f) for f in figures):
            continue
        for label in figure.labels():
            # From the largest: where one does not end in time, smaller ones take longer still.
            sizes = [WITHOUT_BUFFER] if label == "immediate" else sorted(buffers, reverse=True)
            found += [Point(figure, network, label, size) for size in sizes]
    return found
