# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Machines with engines behind PCIe links, as the SX-Aurora: a file per rank, by three methods.

rank's memory - [engine's cores] - [link] - [switch] - [between sockets] - [host's cores] - page cache
                     normal, offload: [VEOS, one request of an engine at a time], [the socket's pages]
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace.tools.model.engine import Flows
from millrace.tools.model.errors import ModelError
from millrace.tools.model.machine import Machine

METHODS = ("normal", "offload", "accelerated")
DIRECTIONS = ("read", "write")
LANGUAGES = ("c", "fortran")
_PAGE = 4096


@dataclass(frozen=True)
class Question:
    method: str
    direction: str
    ranks: int
    size: int  # of each file
    buffer: int = 512 << 10
    mapping: tuple[int, ...] = ()  # engines, each with an equal part of the ranks; empty: in order, 8 ranks on each
    language: str = "c"


def engines_used(machine: Machine, question: Question) -> list[tuple[int, int]]:
    """(engine, its ranks)."""
    each, there = machine.count("cores_per_engine"), machine.count("engines")
    if question.mapping:
        if bad := [e for e in question.mapping if not 0 <= e < there]:
            raise ModelError(f"{machine.name} has no engine {bad[0]}; its engines are 0 to {there - 1}")
        share, more = divmod(question.ranks, len(question.mapping))
        placed = [(engine, share + (i < more)) for i, engine in enumerate(question.mapping)]
    else:
        placed = [(engine, min(each, question.ranks - engine * each)) for engine in range(-(-question.ranks // each))]
    if not 0 < question.ranks <= each * there or any(ranks > each for _, ranks in placed):
        raise ModelError(f"{machine.name} has {there} engines of {each} cores: {question.ranks} ranks do not fit")
    return [(engine, ranks) for engine, ranks in placed if ranks]


def calls(question: Question) -> list[int]:
    """Bytes of each system call: the C library hands on what is whole buffers, and the rest by its buffer."""
    whole = question.size - question.size % question.buffer if question.size > question.buffer else 0
    found = [n for n in (whole, question.size - whole) if n]
    # A Fortran record has its length before and behind it; each is a separate call.
    return [4, *found, 4] if question.language == "fortran" else found


class Path:
    """The stations between an engine and the page cache of its host."""

    def __init__(self, machine: Machine, flows: Flows, engine: int, direction: str) -> None:
        self._machine, self._flows = machine, flows
        self._direction = direction
        sockets, switches, there = (machine.count(n) for n in ("sockets", "switches", "engines"))
        socket = engine * sockets // there
        m = machine
        self.link = [flows.station(f"link-{engine}", rate=m["link_rate"])]
        if switches:
            self.link.append(flows.station(f"switch-{engine * switches // there}", rate=m["link_rate"]))
        self.cross = None
        if sockets > 1:
            self.cross = flows.station("sockets", rate=m[f"cross_{direction}_rate"])
        self.veos = flows.station(f"veos-{engine}", waiting_ns=m["pin_waiting"])
        self.pages = flows.station(f"pages-{socket}")
        self.host = flows.station(f"host-{socket}", m.count("cores_per_socket"), m["copy_rate"])
        self.cores = flows.station(f"engine-{engine}", m.count("cores_per_engine"), m["engine_copy_rate"])

    def move(self, size: int) -> None:
        """Moves a piece by DMA, over all links at once."""
        uses = [(name, size, 0.0) for name in self.link]
        if self.cross:
            uses.append((self.cross, size * self._machine["cross_share"], 0.0))
        self._flows.stage(*uses)

    def pinned(self, size: int, page_ns: float) -> None:
        pages = -(-size // _PAGE)
        self._flows.stage((self.veos, 0, pages * page_ns))
        self._flows.stage((self.pages, 0, pages * self._machine["host_page"]))

    def chunk(self, method: str, size: int, copies: int) -> None:
        """One piece; towards the engine it comes from the page cache, and towards the file it ends there."""
        m, read = self._machine, self._direction == "read"
        page_ns = {"normal": m["pin_page"], "offload": m[f"offload_{self._direction}_page"]}.get(method)
        if read:
            self._flows.stage((self.host, size, 0))
        for _ in range(0 if read else copies):
            self._flows.stage((self.cores, size, 0))
        if page_ns is not None:
            self.pinned(size, page_ns)
        self.move(size)
        for _ in range(copies if read else 0):
            self._flows.stage((self.cores, size, 0))
        if not read:
            self._flows.stage((self.host, size, 0))


def plan(machine: Machine, question: Question) -> str:
    """The plan for millrace-model."""
    flows = Flows()
    chunk = int(machine["accelerated_chunk" if question.method == "accelerated" else "normal_chunk"])
    # Accelerated I/O copies once on the engine, into its own buffer; so does Fortran's library.
    copies = (question.method == "accelerated") + (question.language == "fortran")
    for engine, ranks in engines_used(machine, question):
        path = Path(machine, flows, engine, question.direction)
        flows.flow(ranks)
        for size in calls(question):
            whole, rest = divmod(size, chunk)
            for times, bytes_ in ((whole, chunk), (1, rest)):
                if times and bytes_:
                    flows.step(times)
                    path.chunk(question.method, bytes_, copies)
    return flows.text()


def gb_per_s(question: Question, answer: dict[str, int]) -> float:
    """The rate as in the papers: bytes of all ranks divided by the time between two barriers."""
    return question.ranks * question.size / answer["end_ns"]
