# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Machines with a ring of clients and a file server, as Catwalk-ROMIO's: one shared file, five strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.tools.model.engine import pipeline_text
from millrace.tools.model.errors import ModelError
from millrace.tools.model.machine import Machine
from millrace.units import MIB

STRATEGIES = ("immediate", "sort", "journal", "sort(M)", "journal(M)")  # (M): with merging
NETWORKS = {"ethernet": "slow_link_rate", "myrinet": "fast_link_rate"}
_BEHIND = {"disk": "disk_rate", "lustre": "fast_disk_rate"}
BUFFERS_MIB = (16, 64, 256, 1024)
# NPB 3.3: operations of a time step by points n of an edge; 200 steps, an output in every fifth.
CLASSES = {"A": 64, "B": 102}
_STEPS, _OUTPUTS = 200, 40


def operations(edge: int) -> float:
    """The operations of a whole run of BT, as the program counts them."""
    return _STEPS * (3478.8 * edge**3 - 17655.7 * edge**2 + 28023.7 * edge)


@dataclass(frozen=True)
class Pattern:
    """The ranks' output: IOR's transfer, block and segments, or a mode and class of BT-IO."""

    transfer: int = 0
    block: int = 0
    segments: int = 0
    mode: str = ""
    size_class: str = ""

    @property
    def unit(self) -> str:
        return "Mop/s" if self.mode else "MiB/s"

    def values(self) -> dict[str, Any]:
        if self.mode:
            return {"pattern": f"btio-{self.mode}", "grid": CLASSES[self.size_class], "outputs": _OUTPUTS}
        return {"pattern": "ior", "transfer": self.transfer, "block": self.block, "segments": self.segments}


@dataclass(frozen=True)
class Question:
    pattern: Pattern
    strategy: str
    buffer_mib: int = 1024
    network: str = "ethernet"
    nodes: int = 0  # 0: the machine's
    behind: str = "disk"  # or "lustre"
    servers: int = 1  # each has a disk and an equal part of the file


def _links(servers: int) -> float:
    """The load of the busiest link. A server's ring carries the server's share of every node's bytes, and rings are
    rotated: the last link of one ring carries 1/`servers` of all bytes, and the other rings half of that on average."""
    return 2 * servers / (servers + 1)


def plan(machine: Machine, question: Question) -> str:
    """The plan for millrace-model."""
    nodes = question.nodes or machine.count("nodes")
    if not 0 < question.servers <= 256 or nodes < 1:
        raise ModelError("a ring must have at least one node, and 1 to 256 file servers")
    if question.pattern.mode and round((nodes * machine.count("ranks_per_node")) ** 0.5) ** 2 != nodes * machine.count(
        "ranks_per_node"
    ):
        raise ModelError("BT-IO needs a square number of ranks, such as 16 nodes of 16")
    values: dict[str, Any] = {
        "nodes": nodes,
        "ranks_per_node": machine.count("ranks_per_node"),
        "strategy": question.strategy.replace("(M)", ""),
        "merge": int(question.strategy.endswith("(M)")),
        "sort_buffer": question.buffer_mib * MIB,
        **{name: round(machine[name]) for name in ("record_max", "grain", "window", "sync_every")},
        "server_buffers": machine.count("server_buffers"),
        "open_ns": round(machine["open"]),
        "request_ns": round(machine["request"]),
        "record_ns": round(machine["record"]),
        "byte_ps": round(machine["byte"] * 1000),
        "link_bytes_per_second": round(machine[NETWORKS[question.network]] * _links(question.servers)),
        "link_latency_ns": round(machine["link_latency"]),
        "server_record_ns": round(machine["server_record"]),
        "server_byte_ps": round(machine["server_byte"] * 1000),
        "disk_bytes_per_second": round(machine[_BEHIND[question.behind]] * question.servers),
        "seek_ns": 0 if question.behind == "lustre" else round(machine["seek"] / question.servers),
        **question.pattern.values(),
    }
    if question.pattern.mode:
        seconds = operations(CLASSES[question.pattern.size_class]) / machine["compute_rate"]
        values["compute_ns"] = round(seconds / _OUTPUTS * 1e9)
    return pipeline_text(values)


def result(question: Question, answer: dict[str, int]) -> float:
    """The rate in MiB/s with open and close, or in Mop/s as BT-IO prints it."""
    seconds = answer["end_ns"] / 1e9
    if question.pattern.mode:
        return operations(CLASSES[question.pattern.size_class]) / 1e6 / seconds
    return answer["bytes"] / MIB / seconds
