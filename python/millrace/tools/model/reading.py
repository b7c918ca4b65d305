# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""One file that all nodes of a cluster read, each its own pieces: by the MPI library alone, and through the agents.

The pieces of some nodes lie between each other. `sharers` nodes take turns of one piece:

    | node 0 | node 1 | ... | node sharers - 1 | node 0 | ...

As in network.py nothing runs here: the busiest station gives the time (docs/adr/0018). A byte that a node wants is
read from the storage by that node, or by a file server, which sends it to the node (docs/adr/0024). Latencies are
left out, so small calls that wait for each other are slower than this.
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace.tools.model import network
from millrace.tools.model.errors import ModelError
from millrace.tools.model.machine import Machine
from millrace.units import KIB

PAGE = 4 * KIB
READ_AHEAD = 128 * KIB  # Linux's window for a file that is read nearly in order


@dataclass(frozen=True)
class Question:
    nodes: int
    node_bytes: int  # that each node wants
    piece: int
    sharers: int
    servers: int = 1
    topology: str = "direct"
    storage_links: int = 1  # links from the storage to the nodes
    on_node: bool = False  # the storage is a disk of the only file server's node


def check(question: Question) -> None:
    network.check(network.Question(question.topology, question.servers, question.nodes, 1, question.node_bytes))
    if question.piece < 1 or question.storage_links < 1:
        raise ModelError("a piece has at least one byte, and the storage at least one link")
    if not 1 <= question.sharers <= question.nodes:
        raise ModelError(f"{question.sharers} nodes cannot share a stripe of {question.nodes} nodes' pieces")
    if question.on_node and question.servers != 1:
        raise ModelError("a disk of one node has one file server")


def fetched(question: Question, unit: int) -> float:
    """The bytes that a node reads for each byte that it wants, if it reads whole units of the file."""
    return min(max(1.0, unit / question.piece), question.sharers)


def stock(machine: Machine, question: Question, unit: int) -> dict[str, float]:
    """The busy time of each station in seconds, where each node reads units of the file by itself."""
    check(question)
    node_s = question.node_bytes * fetched(question, unit) / machine["link_rate"]
    readers = question.nodes - (1 if question.on_node else 0)
    return {"storage": readers * node_s / question.storage_links, "link in": node_s if readers else 0.0}


def agents(machine: Machine, question: Question) -> dict[str, float]:
    """The same where file servers read each byte once. Bytes go back on the way on which records would have come."""
    check(question)
    wanted = question.node_bytes
    read = 0.0 if question.on_node else question.nodes * wanted / machine["link_rate"] / question.storage_links
    busy = {"storage": read, "ranks": wanted * machine["rank_byte"] / 1e9}
    work_ns = 0.0

    def uses(name: str, seconds: float) -> None:
        busy[name] = max(busy.get(name, 0.0), seconds)

    for load in network.loads(question.topology, question.nodes, question.servers):
        from_storage = 0.0 if question.on_node else load.serves
        uses("link out", load.into * wanted / machine["link_rate"])
        uses("link in", (load.out + from_storage) * wanted / machine["link_rate"])
        passed_ns = (load.into + load.out) * machine["net_byte"] + load.serves * machine["disk_byte"]
        uses("agent", (passed_ns + machine["take_byte"]) * wanted / 1e9)
    if machine.count("shared") > 0:
        crossing = 2 * sum(passing - 1 for passing in network.behind(question.topology, question.nodes))
        each_ns = machine["disk_byte"] + machine["take_byte"] + machine["rank_byte"]
        work_ns = (crossing * machine["net_byte"] + question.nodes * each_ns) * wanted
        uses("processors", work_ns / machine.count("cores") / 1e9)
    return busy


def busiest(busy: dict[str, float]) -> str:
    return max(busy, key=lambda name: busy[name])


def rate(question: Question, busy: dict[str, float]) -> float:
    """The wanted bytes of all nodes in bytes per second."""
    return question.nodes * question.node_bytes / max(busy.values())
