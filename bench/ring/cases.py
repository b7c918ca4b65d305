# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What is run on which nodes, in which ways, and what each way has to reach."""

from __future__ import annotations

import dataclasses
import fnmatch

from bars.cases import BRICK_GRIDS, BRICKS, PATTERNS

from . import peers
from .nodes import Shape

DISK = "disk"  # a folder that all nodes see, on the machine's disk; else the name of a peer, mounted on all nodes
LARGE = 32 << 10  # from here on `auto` may leave pieces to the MPI library

# A shared folder on the machine's own disk is far faster than any link: what the MPI library writes there itself
# crosses no network. So that the way across the network is measured, all pieces take the pipeline.
PIPELINE = {"MILLRACE_DIRECT_ABOVE": "1GiB"}
WRITES_ONLY = "--read-every 0 --chunked-every 0"  # while HDF5 makes the file
ONE_SERVER = {"MILLRACE_FILE_SERVERS": "1"}


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to run a case's program; without settings, the stock MPI library."""

    name: str
    target: str = DISK
    settings: dict[str, str] | None = None
    arguments: tuple[str, ...] = ()  # after the case's own
    nodes: int = 0  # bar 7: how many compute nodes run it


@dataclasses.dataclass(frozen=True)
class Need:
    """A way's rate has to be `least` times that of another way, or of a limit."""

    way: str
    over: str
    least: float


@dataclasses.dataclass
class Case:
    bar: int
    pattern: str
    shape: Shape
    program: str
    arguments: list[str]
    ways: list[Way]
    needs: list[Need] = dataclasses.field(default_factory=list)
    limits: tuple[str, ...] = ()  # network, disk, server (the smaller of the two), own, other (streams into a mount)
    servers: int = 1
    open_ms: float = 0  # bound of MPI_File_open; 0 = none
    peer: str = ""
    repetitions: int = 0  # of each run; 0 = as the user says
    reads: bool = False  # a new file for each run, written by the stock library, read once with cold caches
    inputs: bool = False  # bar 7: node 0 is the file server alone, and ranks read one file with open and read

    @property
    def name(self) -> str:
        return f"{self.bar}/{self.pattern}/{self.peer or DISK}/{self.shape.nodes}"


@dataclasses.dataclass
class Selection:
    bars: set[int]
    patterns: list[str]
    peers: list[str]
    nodes: int = 4
    per_node: int = 4
    bandwidth: str = "1gbit"
    at_most: str = "64m"

    def shape(self, nodes: int = 0, per_node: int = 0) -> Shape:
        return Shape(nodes or self.nodes, per_node or self.per_node, self.bandwidth)

    def wants(self, case: Case) -> bool:
        return case.bar in self.bars and any(fnmatch.fnmatch(case.pattern, p) for p in self.patterns)


def ior(pattern: str, at_most: str) -> list[str]:
    """The arguments of a pattern's run."""
    return ["-a", "MPIIO", "--preset", pattern, "--at-most", at_most, "-w", "-e", "-W"]


def network(selection: Selection) -> list[Case]:
    """Bar 1: each pattern at the speed of the server's link or disk, whichever is slower."""
    shape = selection.shape()
    programs = {name: ("ior", ior(name, selection.at_most), piece) for name, (piece, _) in PATTERNS.items()}
    for name, (dims, piece) in BRICKS.items():
        if shape.ranks in BRICK_GRIDS:
            grid = BRICK_GRIDS[shape.ranks]
            programs[name] = ("subarray", ["-d", dims, "-g", grid, "--pieces", "plane", "-e", "-W"], piece)
    cases = []
    for name, (program, arguments, piece) in programs.items():
        ways = [
            Way(topology, DISK, ONE_SERVER | PIPELINE | {"MILLRACE_TOPOLOGY": topology})
            for topology in ("direct", "ring")
        ]
        if piece >= LARGE:
            ways.append(Way("auto", DISK, ONE_SERVER))
        needs = [Need(topology, "server", 0.90) for topology in ("direct", "ring")]
        cases.append(Case(1, name, shape, program, arguments, ways, needs, ("network", "disk", "server")))
    return cases


def compared(selection: Selection, peer: str) -> list[Case]:
    """Bar 2: a peer by itself; Millrace writing to the disk of the peer's server; Millrace in front of the peer."""
    # pattern: (least ratio to the stock library on GlusterFS, largest file of a stock run)
    ratios = {
        "block-1m": (0.97, "64m"),
        "segments-32k": (0.97, "64m"),
        "fine-4k": (9, "16m"),
        "fine-1k": (35, "4m"),
        "fine-256": (100, "1m"),
    }
    programs = {
        name: ("ior", ior(name, selection.at_most), ratio, ("--at-most", size))
        for name, (ratio, size) in ratios.items()
    }
    words = ["-C", "W", "--meet", "neighbours", "--verify", "plain"]  # BT's ranks meet by messages
    for mode, ratio in (("simple", 30), ("full", 2)):
        programs[f"btio-{mode}-W"] = ("btio", [*words, "-m", mode], ratio, ())
    cases = []
    for name, (program, arguments, ratio, smaller) in programs.items():
        ways = [
            Way("stock", peer, None, smaller),
            Way("server's disk", DISK, ONE_SERVER | PIPELINE),
            Way("in front, 1 server", peer, ONE_SERVER),
            Way("in front", peer, {}),
        ]
        needs = [Need("server's disk", "stock", ratio if peer == "glusterfs" or ratio < 1 else 2)]
        if program == "ior":
            needs.append(Need("in front, 1 server", "other", 0.85))
        limits = ("network", "own", "other")
        cases.append(Case(2, name, selection.shape(), program, arguments, ways, needs, limits, 1, 0, peer, 1))
    return cases


def servers(selection: Selection) -> list[Case]:
    """Bar 3: several file servers use several links."""
    counts = [n for n in (1, 2, 4) if n <= selection.nodes]
    ways = [Way(f"{n} servers", DISK, PIPELINE | {"MILLRACE_FILE_SERVERS": str(n)}) for n in counts]
    least = {2: 1.8, 4: 3.2}
    needs = [Need(f"{n} servers", "1 servers", least[n]) for n in counts if n > 1]
    size = "256m" if selection.at_most == "64m" else selection.at_most
    arguments = ior("fine-4k", size)
    return [Case(3, "fine-4k", selection.shape(), "ior", arguments, ways, needs, ("network", "disk"))]


def predicted(selection: Selection) -> list[Case]:
    """Bar 4: what predict.py predicts: three patterns, one and two file servers."""
    ways = [
        Way(f"{servers} {topology}", DISK, PIPELINE | {"MILLRACE_FILE_SERVERS": servers, "MILLRACE_TOPOLOGY": topology})
        for topology in ("direct", "ring")
        for servers in ("1", "2")
    ]
    return [
        Case(4, name, selection.shape(), "ior", ior(name, selection.at_most), ways)
        for name in ("fine-4k", "fine-1k", "random-256")
    ]


def scaling(selection: Selection) -> list[Case]:
    """Bar 5: more nodes, the same ranks in all. MPI_File_open takes 50 ms and 5 more for each node."""
    cases = []
    ranks = selection.nodes * selection.per_node
    for nodes in (2, 4, 8, 16):
        if nodes > ranks:
            continue
        shape = selection.shape(nodes, ranks // nodes)
        ways = [Way("direct", DISK, ONE_SERVER | PIPELINE)]
        needs = [Need("direct", "server", 0.90)]
        limits = ("network", "disk", "server")
        arguments = ior("fine-4k", selection.at_most)
        cases.append(Case(5, "fine-4k", shape, "ior", arguments, ways, needs, limits, 1, 50 + 5 * nodes))
    return cases


def reading(selection: Selection, peer: str) -> list[Case]:
    """Bar 6: cold reads of a new file: in front of a peer, and of a folder that all nodes see, on the server's disk."""
    # pattern: (IOR's arguments, least part of what the links allow, least ratio to the stock library on GlusterFS)
    patterns = {
        "1m": ("-t 1m -b 1m", 0.85, 1.15),
        "32k of 64k": ("-t 32k -b 64k", 0.85, 1.4),
        "4k of 16k": ("-t 4k -b 16k", 0.85, 2.4),
        "1k": ("-t 1k -b 1k", 0.85, 4),
        "256": ("-t 256 -b 256", 0.8, 4),
        "4k of 16k, random": ("-t 4k -b 16k -z", 0.75, 1),
        "4k of 16k, collective": ("-t 4k -b 16k -c", 0.85, 8),
        "256, collective": ("-t 256 -b 256 -c", 0.8, 20),
    }
    cases = []
    for name, (words, part, ratio) in patterns.items():
        size = "16m" if "256" in words else selection.at_most
        arguments = ["-a", "MPIIO", *words.split(), "--at-least", size, "--at-most", size]
        ways = [
            Way("stock", peer),
            Way("auto", peer, {}),
            Way("server's disk", DISK, ONE_SERVER | {"MILLRACE_STAGE": "pieces"}),
        ]
        needs = [Need("auto", "stock", ratio), Need("auto", "network", part), Need("server's disk", "network", part)]
        cases.append(
            Case(6, name, selection.shape(), "ior", arguments, ways, needs, ("network",), 1, 0, peer, 1, reads=True)
        )
    return cases


def library_reads(selection: Selection, peer: str) -> list[Case]:
    """Bar 8: what programs and libraries read from a new file with cold caches: at least twice as fast as stock."""
    programs = {
        "btio-full-W": ("btio", "-C W -m full"),
        "btio-simple-W": ("btio", "-C W -m simple"),
        "hdf5, columns": ("hdf5", f"-d 16 --rows 1024 -n 32 -a 0 {WRITES_ONLY}"),
        "hdf5, columns, collective": ("hdf5", f"-d 16 --rows 1024 -n 32 -a 0 -c {WRITES_ONLY}"),
        "hdf5, small": ("hdf5", WRITES_ONLY),
        "hdf5, small, collective": ("hdf5", f"-c {WRITES_ONLY}"),
        "pnetcdf": ("pnetcdf", ""),
        "pnetcdf, queued": ("pnetcdf", "--calls queued"),
    }
    ways = [Way("stock", peer), Way("auto", peer, {})]
    needs = [Need("auto", "stock", 2)]
    shape = selection.shape()
    return [
        Case(8, name, shape, program, words.split(), ways, needs, ("network",), 1, 0, peer, 1, reads=True)
        for name, (program, words) in programs.items()
    ]


def inputs(selection: Selection, peer: str) -> list[Case]:
    """Bar 7: all nodes' ranks read one input file in at most 1.3 times the time of one node's ranks."""
    n = selection.nodes
    ways = [Way("one node", peer, nodes=1), Way("stock", peer, nodes=n), Way("posix-stage", peer, {}, nodes=n)]
    needs = [Need("posix-stage", "one node", 1 / 1.3)]
    shape = selection.shape(n + 1)  # the file server is a node of its own
    arguments = ["-b", selection.at_most]
    return [Case(7, "input", shape, "deck", arguments, ways, needs, (), 1, 0, peer, 1, inputs=True)]


def select(selection: Selection) -> list[Case]:
    cases = network(selection)
    for peer in selection.peers:
        cases += compared(selection, peer) + reading(selection, peer) + inputs(selection, peer)
        cases += library_reads(selection, peer)
    cases += servers(selection) + predicted(selection) + scaling(selection)
    return [case for case in cases if selection.wants(case)]


def unavailable(case: Case, iperf3: bool) -> str:
    """Why a case cannot be measured here; empty if it can."""
    if case.peer:
        return peers.missing(case.peer)
    return "" if iperf3 or not case.needs else "iperf3 not found, which gives the limit (apt install iperf3)"
