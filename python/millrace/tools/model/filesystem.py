# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Parallel file systems, and hosts with one storage: the rates of ranks with a file each, or one shared file."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.tools.model.engine import Flows
from millrace.tools.model.errors import ModelError
from millrace.tools.model.machine import Machine

METHODS = {"file-system": ("file-per-process", "shared-file"), "host": ("direct", "buffered")}
_PIECE = 64 << 20  # of a transfer in the model: smaller pieces would not change the result
_PIECES = 64


@dataclass(frozen=True)
class Question:
    method: str
    ranks: int
    size: int  # of each rank
    per_node: int = 0  # 0: as many as it has cores
    call: int = 1 << 20


def _pieces(size: int) -> tuple[int, int]:
    """(number, size) of pieces. Some tens of pieces for each rank give the same result as all of its calls."""
    times = max(1, min(_PIECES, size // _PIECE))
    return times, size // times


def plan(machine: Machine, question: Question) -> str:
    """The plan for millrace-model."""
    if question.ranks < 1 or question.size < 1:
        raise ModelError("--ranks and --size must be at least 1")
    return _host(machine, question) if machine.kind == "host" else _parallel(machine, question)


def _parallel(machine: Machine, question: Question) -> str:
    flows = Flows()
    per_node = question.per_node or machine.count("ranks_per_node")
    share = machine["shared_share"] if question.method == "shared-file" else 1.0
    # A rank's file uses some of the targets, and all files use all of them: one station with many slots.
    targets = machine.count("targets")
    flows.station("targets", targets, machine["target_rate"] * share)
    times, size = _pieces(question.size)
    waits = size / question.call * machine["call"]
    for node in range(-(-question.ranks // per_node)):
        flows.station(f"node-{node}", rate=machine["node_rate"])
        flows.flow(min(per_node, question.ranks - node * per_node))
        flows.step(times)
        spread = max(1, min(16, targets // question.ranks))  # requests of a rank that are under way at once
        flows.stage((f"node-{node}", size, 0), *[("targets", size / spread, waits / spread)] * spread)
    return flows.text()


def _host(machine: Machine, question: Question) -> str:
    flows = Flows()
    flows.station("cores", machine.count("cores"), machine["copy_rate"])
    flows.station("storage", rate=machine["storage_rate"])
    times, size = _pieces(question.size)
    waits = size / question.call * machine["call"]
    flows.flow(question.ranks)
    flows.step(times)
    if question.method == "buffered":
        flows.stage(("cores", size, waits))
    flows.stage(("storage", size, waits if question.method == "direct" else 0))
    return flows.text()


def gb_per_s(question: Question, answer: dict[str, int]) -> float:
    """The rate: bytes of all ranks divided by the time until the last one ends."""
    return question.ranks * question.size / answer["end_ns"]
