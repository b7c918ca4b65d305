#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The scale study: docs/results/scale.md and its figures, for 16 to 16,384 nodes.

Up to --agent nodes, the shipped agent runs in virtual time (millrace-sim --scale). The stations of `millrace model
cluster-10g` answer for every number of nodes. If both have an answer, the page shows both.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from millrace.tools.model import machine, network, reading  # noqa: E402

GIB = 1 << 30
NODES = (16, 64, 256, 1024, 16384)
SERVERS = (4, 16)
# What nodes read: bytes of a piece, nodes whose pieces lie between each other.
PIECES = ((1 << 20, 16, "1 MiB of 16 MiB"), (4096, 4, "4 KiB of 16 KiB"), (256, 16, "256 B of 4 KiB"))
READ_SERVERS = (4, 64)
SERVED = [f"agents, {count} servers" for count in READ_SERVERS]
COLOURS = {"direct": "#2f6db3", "tree": "#3a9a5b", "ring": "#d08a2e"}
# The runs of the agent: nodes, bytes for each simulated byte, and file servers. In a ring, each byte passes many links,
# so fewer bytes are simulated.
RUNS = ((16, 1024, (4, 16)), (64, 1024, (4, 16)), (256, 4096, (4, 16)), (1024, 8192, (4,)))
RING_RUNS = ((16, 1024, (4,)), (64, 4096, (4,)), (256, 16384, (4,)), (1024, 16384, (4,)))
RATE = re.compile(r"GiB in ([0-9.]+) s: ([0-9.]+) GB/s")


def runs(topology: str) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    return RING_RUNS if topology == "ring" else RUNS


def question(topology: str, servers: int, nodes: int) -> network.Question:
    return network.Question(topology, servers, nodes, 1, GIB)


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def agent(program: pathlib.Path, topology: str, servers: int, nodes: int, shrink: int) -> tuple[float, float]:
    """The rate of the shipped agent in GB/s, without the open, and the processor seconds of the simulation."""
    begin = processor_s()
    words = [program, "--scale", nodes, 1024, shrink, topology, servers]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=3600, check=False)
    found = RATE.search(done.stdout)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return float(found[2]), processor_s() - begin


def stations(of: machine.Machine, topology: str, servers: int, nodes: int) -> tuple[float, network.Answer]:
    asked = question(topology, servers, nodes)
    answer = network.ask(of, asked)
    return nodes * GIB / (answer.seconds - network.open_ns(of, nodes) / 1e9) / 1e9, answer


def measure(program: pathlib.Path, most: int) -> dict[tuple[str, int, int], float]:
    """The agent's rates by topology, nodes and servers."""
    rates = {}
    for topology in network.TOPOLOGIES:
        for nodes, shrink, counts in (run for run in runs(topology) if run[0] <= most):
            for servers in counts:
                rates[topology, nodes, servers], took = agent(program, topology, servers, nodes, shrink)
                found = f"{rates[topology, nodes, servers]:.3f} GB/s"
                print(f"{topology}, {nodes} nodes, {servers} servers: {found}, {took:.1f} s of a processor", flush=True)
    return rates


def bandwidth(of: machine.Machine, rates: dict[tuple[str, int, int], float]) -> list[str]:
    """A table of the stations' rates with the agent's in brackets."""
    lines = ["| nodes | servers | " + " | ".join(f"{t}, GB/s" for t in network.TOPOLOGIES) + " |"]
    lines.append("| --- | --- | --- | --- | --- |")
    worst = 0.0
    for nodes in NODES:
        for servers in (s for s in SERVERS if s <= nodes):
            cells = []
            for topology in network.TOPOLOGIES:
                expected, _ = stations(of, topology, servers, nodes)
                found = rates.get((topology, nodes, servers))
                cells.append(f"{expected:.2f}" + (f" ({found:.3f})" if found else ""))
                worst = max(worst, abs(expected / found - 1) if found else 0)
            lines.append(f"| {nodes} | {servers} | {' | '.join(cells)} |")
    return [*lines, "", f"Largest difference of the two: {worst:.1%}."]


def reads(of: machine.Machine) -> list[str]:
    """The section about reading."""
    head = [f"library, {what}" for _, _, what in PIECES] + SERVED
    lines = [(ROOT / "sim/study_reads.md").read_text().rstrip(), ""]
    lines += ["| nodes | links | " + " | ".join(head) + " |", "| --- | --- |" + " --- |" * len(head)]
    rows = [("any", 1, NODES), *((nodes, nodes // 16, (nodes,)) for nodes in NODES)]
    for name, links, counts in rows:
        columns = zip(*(read_rates(of, nodes, links) for nodes in counts), strict=True)
        cells = [sorted({rate for rates in column for rate in rates}) for column in columns]
        texts = [" to ".join(dict.fromkeys(f"{r / 1e9:.2f}" for r in (c[0], c[-1]))) if c else "-" for c in cells]
        lines.append(f"| {name} | {links} | {' | '.join(texts)} |")
    return lines


def read_rates(of: machine.Machine, nodes: int, links: int) -> list[list[float]]:
    """The library's rates for each kind of pieces, with pages and with read-ahead; the agents' for each count."""
    asked = [reading.Question(nodes, GIB, piece, sharers, storage_links=links) for piece, sharers, _ in PIECES]
    units = (reading.PAGE, reading.READ_AHEAD)
    library = [[reading.rate(one, reading.stock(of, one, unit)) for unit in units] for one in asked]
    agents = [[(one, served(of, one, servers)) for one in asked] for servers in READ_SERVERS]
    return library + [[reading.rate(one, busy) for one, busy in found if busy] for found in agents]


def served(of: machine.Machine, asked: reading.Question, servers: int) -> dict[str, float]:
    """The stations with the topology of `auto`; empty if there are fewer nodes than servers."""
    topology = "direct" if asked.nodes <= 512 else "tree"
    question = dataclasses.replace(asked, servers=servers, topology=topology)
    return reading.agents(of, question) if servers <= asked.nodes else {}


def draw(of: machine.Machine, folder: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "millrace", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    pyplot.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none"})
    folder.mkdir(parents=True, exist_ok=True)
    figure, (rates, memory) = pyplot.subplots(1, 2, figsize=(10, 4))
    for topology, colour in COLOURS.items():
        for servers, style in ((1, ":"), (16, "-")):
            found = [stations(of, topology, servers, n)[0] for n in NODES]
            rates.plot(NODES, found, style, color=colour, marker="o", markersize=3, label=f"{topology}, {servers}")
        held = [stations(of, topology, 4, n)[1].memory / (1 << 20) for n in NODES]
        memory.plot(NODES, held, color=colour, marker="o", markersize=3, label=topology)
    for axes, label in ((rates, "GB/s, by file servers"), (memory, "MiB of the busiest agent's links, 4 servers")):
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel=label)
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / "scale.svg", metadata={"Date": None})


ABOUT = (ROOT / "sim/study.md").read_text()
READING = "## Reading"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", type=int, default=1024, help="the most nodes for the agent itself (1024)")
    parser.add_argument("--sim", type=pathlib.Path, default=ROOT / "build/bin/tests/millrace-sim")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs")
    parser.add_argument("--reads", action="store_true", help="only the section about reading (a second)")
    options = parser.parse_args()
    of = machine.find("cluster-10g")
    place = options.out / "results/scale.md"
    if options.reads:
        kept = place.read_text().partition(READING)[0].rstrip()
        place.write_text("\n".join([kept, "", *reads(of)]) + "\n")
        return 0
    draw(of, options.out / "images/model")
    rates = measure(options.sim, options.agent)
    page = [ABOUT.rstrip(), "", *bandwidth(of, rates), "", "![Bandwidth and memory](../images/model/scale.svg)", ""]
    place.write_text("\n".join([*page, *reads(of)]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
