# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters on which agents pass records on (kind `cluster`): how busy every link and processor is, for any topology.

Nothing runs here. Who carries what follows from the topology (transport/topology has the same rules), and the
busiest of all stations says how long a file takes; what cannot overlap is added: opening, the first batch's
way to the server, and the way of a close there and back. The shipped agent in virtual time (`millrace-sim`)
is what this is held against (docs/results/scale.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from millrace.tools.model.errors import ModelError
from millrace.tools.model.machine import Machine
from millrace.units import KIB, MIB

TOPOLOGIES = ("direct", "tree", "ring")
MOST_NODES = 65536
MOST_SERVERS = 256
# Of the agent (src/transport): a link's send buffer, its receive buffer, a batch.
LINK_OUT = 4 * MIB
LINK_IN = 2 * (MIB + 64)
BATCH = 256 * KIB
NODE = 48  # bytes of a node in the list that ranks exchange at an open (src/client/open/company.hpp)


@dataclass(frozen=True)
class Question:
    topology: str
    servers: int
    nodes: int
    ranks_per_node: int
    rank_bytes: int
    record: int = 4 * KIB
    scattered: bool = False  # records in random order


@dataclass(frozen=True)
class Answer:
    seconds: float  # from open to close
    open_s: float
    close_s: float  # the time of a close when all bytes are in the file
    busiest: str
    busy_s: float
    links: int  # of the agent with the most links
    memory: int  # the most memory of these links, in bytes

    def rate(self, question: Question) -> float:
        """The rate in bytes per second, with open and close."""
        return question.nodes * question.ranks_per_node * question.rank_bytes / self.seconds


def server_of(nodes: int, servers: int, lane: int) -> int:
    return lane * nodes // servers


def next_node(topology: str, nodes: int, node: int, server: int) -> int:
    if topology == "ring":
        return (node + nodes - 1) % nodes
    if topology == "tree":
        place = (node + nodes - server) % nodes
        return ((place - 1) // 2 + server) % nodes
    return server


def behind(topology: str, nodes: int) -> list[int]:
    """For each place (0 is the server), the number of nodes whose records pass it, itself included."""
    if topology == "direct":
        return [nodes] + [1] * (nodes - 1)
    if topology == "ring":
        return [nodes] + [nodes - place for place in range(1, nodes)]
    found = [1] * nodes
    for place in range(nodes - 1, 0, -1):
        found[(place - 1) // 2] += found[place]
    return found


def upstreams(topology: str, nodes: int, place: int) -> int:
    if topology == "direct":
        return nodes - 1 if place == 0 else 0
    if topology == "ring":
        return 1 if place < nodes - 1 else 0
    return max(0, min(2, nodes - 1 - 2 * place))


def depth(topology: str, nodes: int) -> int:
    """The number of links between the server and the furthest node."""
    if nodes == 1:
        return 0
    return {"direct": 1, "ring": nodes - 1, "tree": int(math.log2(nodes))}[topology]


@dataclass(frozen=True)
class Load:
    """The traffic of one node's agent, in shares of one node's output."""

    out: float
    into: float
    serves: float  # the number of the file's lanes that end here
    links_in: int
    links_out: int


def loads(topology: str, nodes: int, servers: int) -> Iterator[Load]:
    """Of nodes that differ: servers are spread evenly, and all stretches between two of them are alike, but for one
    node more or less."""
    passing = behind(topology, nodes)
    starts = [server_of(nodes, servers, lane) for lane in range(servers)]
    for node in range(-(-nodes // servers)):
        out = into = 0.0
        serves = links_in = links_out = 0
        for start in starts:
            place = (node + nodes - start) % nodes
            into += (passing[place] - 1) / servers
            links_in += upstreams(topology, nodes, place)
            if place == 0:
                serves += 1
            else:
                out += passing[place] / servers
                links_out += 1
        yield Load(out, into, serves / servers * nodes, links_in, links_out)


def check(question: Question) -> None:
    if question.topology not in TOPOLOGIES:
        raise ModelError(f"--topology {question.topology}: use one of {', '.join(TOPOLOGIES)}")
    if not 1 <= question.nodes <= MOST_NODES:
        raise ModelError(f"--nodes {question.nodes} must be from 1 to {MOST_NODES}")
    if not 1 <= question.servers <= min(MOST_SERVERS, question.nodes):
        raise ModelError(f"--servers {question.servers} must be from 1 to {MOST_SERVERS}, and at most one per node")
    if question.rank_bytes < 1 or question.record < 1 or question.ranks_per_node < 1:
        raise ModelError("a rank writes at least one byte, in pieces of at least one")


def stations(machine: Machine, question: Question) -> dict[str, float]:
    """The busy time of each station in seconds; of equal stations, the busiest."""
    node_bytes = question.ranks_per_node * question.rank_bytes
    records = node_bytes / question.record
    busy: dict[str, float] = {}

    def uses(name: str, ns: float) -> None:
        busy[name] = max(busy.get(name, 0.0), ns / 1e9)

    take = machine["take_scattered" if question.scattered else "take_record"]
    take_ns = node_bytes * machine["take_byte"] + records * take
    rank_ns = node_bytes * machine["rank_byte"] + records * machine["rank_record"]
    shared_ns = 0.0
    for load in loads(question.topology, question.nodes, question.servers):
        uses("link out", load.out * node_bytes / machine["link_rate"] * 1e9)
        uses("link in", load.into * node_bytes / machine["link_rate"] * 1e9)
        uses("agent", take_ns + load.into * records * take + (load.out + load.into) * node_bytes * machine["net_byte"])
        uses("disk", load.serves * node_bytes / machine["disk_rate"] * 1e9)
    carried = records * sum(passing - 1 for passing in behind(question.topology, question.nodes))
    crossing = node_bytes * sum(passing - 1 for passing in behind(question.topology, question.nodes))
    written = node_bytes * question.nodes
    cores = machine.count("cores")
    uses("ranks", rank_ns / min(question.ranks_per_node, cores))
    if machine.count("shared") > 0:
        shared_ns = question.nodes * (take_ns + rank_ns) + 2 * crossing * machine["net_byte"] + carried * take
        uses("processors", (shared_ns + written * machine["disk_byte"]) / cores)
        uses("disk", written / machine["disk_rate"] * 1e9)
    return busy


def hop_ns(machine: Machine) -> float:
    """The time of a message from agent to agent."""
    return machine["link_latency"] + machine["wake"]


def open_ns(machine: Machine, nodes: int) -> float:
    """Ranks bring the list of the nodes together up a tree, with a level for each doubling, and it comes down again."""
    levels = math.log2(max(1, nodes))
    return machine["open"] + machine["open_step"] * levels + (1 + levels) * NODE * nodes / machine["link_rate"] * 1e9


def ask(machine: Machine, question: Question) -> Answer:
    check(question)
    busy = stations(machine, question)
    busiest = max(busy, key=lambda name: busy[name])
    deep = depth(question.topology, question.nodes)
    most_in = max(upstreams(question.topology, question.nodes, place) for place in range(min(2, question.nodes)))
    close = (2 * deep * hop_ns(machine) + 2 * most_in * machine["message"]) / 1e9
    share = question.ranks_per_node * question.rank_bytes / question.servers
    first = deep * (min(BATCH, share) / machine["link_rate"] * 1e9 + hop_ns(machine)) / 1e9
    handshakes = most_in * machine["handshake"] / 1e9
    opened = open_ns(machine, question.nodes) / 1e9
    # Incomplete chunks are written and synced after the last byte has arrived.
    late = machine["late"] * question.nodes * question.ranks_per_node * question.rank_bytes
    servers = 1 if machine.count("shared") > 0 else question.servers
    last = late * (1e9 / machine["disk_rate"] / servers + machine["disk_byte"]) / 1e9 + machine["sync"] / 1e9
    found = list(loads(question.topology, question.nodes, question.servers))
    memory = max(load.links_in * LINK_IN + load.links_out * LINK_OUT for load in found)
    links = max(load.links_in + load.links_out for load in found)
    seconds = opened + handshakes + first + busy[busiest] + last + close
    return Answer(seconds, opened + handshakes, close, busiest, busy[busiest], links, memory)
