#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Measures by how much a flood of connections delays a job: jobs of two nodes take turns, alone and with floods.

Each agent is flooded by another user of its node and by the other node. Floods give way to everybody else for the
processor: what is measured is what the agents do about them. Root, for virtual clusters and the other user."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from conftest import ROOT, eventually
from jobs import LAUNCHERS, nodes_up, port_of, shared_folder

NOBODY = 65534


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpi", choices=sorted(LAUNCHERS), default="mpich")
    parser.add_argument("--seconds", type=float, default=60, help="of floods, in all (60)")
    parser.add_argument("--pieces", type=int, default=100000, help="that each rank writes in a job (100000)")
    parser.add_argument("--piece", type=int, default=1024, help="bytes of each (1024)")
    return parser


def floods(nodes, agents) -> list[subprocess.Popen]:
    running = []
    for agent, node in agents.items():
        name = Path(f"/proc/{agent}/cmdline").read_bytes().split(b"\0")[1].decode()
        other = (node + 1) % nodes.count
        network = ("tcp", f"node{node}", port_of(agent))
        for place, words, user in ((node, ("unix", name), NOBODY), (other, network, 0)):
            environment = dict(os.environ, FLOOD_UID=str(user))
            command = (sys.executable, ROOT / "tests/flood.py", *words)
            running.append(nodes.cluster.start(place, *command, stdin=subprocess.PIPE, env=environment))
    for one in running:
        assert one.stdout.readline() == "begun\n"
    return running


def sample(nodes, options, flooded: bool) -> tuple[float, int]:
    """Seconds from the begin of writing to the end of the job, and how often floods connected meanwhile."""
    job = nodes.job(options.mpi, per_node=1)
    go = job.folder / "go"
    words = [f"piece={options.piece}", f"pieces={options.pieces}", "stop=100", f"go={go}"]
    job.start("victim", job.folder / "data", *words)
    assert eventually(lambda: job.out.count("at ") == nodes.count, 60), job.told
    agents = job.named("millraced")
    with contextlib.ExitStack() as stack:
        running = floods(nodes, agents) if flooded else []
        for one in running:
            stack.callback(one.wait, 60)
            stack.callback(one.stdin.close)
        begin = time.monotonic()
        go.touch()
        assert job.wait(600) == 0 and job.errors() == {}, job.told
        taken = time.monotonic() - begin
        connected = sum(int(one.communicate(timeout=60)[0].split()[-1]) for one in running)
    (job.folder / "data").unlink()
    job.expect_nothing_left()
    return taken, connected


def main() -> int:
    options = arguments().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the cluster goes too
    alone, flooded, connected = [], [], 0
    with shared_folder() as folder, nodes_up("flood-bars", 2, folder) as nodes:
        while sum(flooded) < options.seconds:
            alone.append(sample(nodes, options, False)[0])
            taken, more = sample(nodes, options, True)
            flooded.append(taken)
            connected += more
            print(
                f"alone {alone[-1]:.2f} s, flooded {taken:.2f} s, {more / taken:.0f} connections a second", flush=True
            )
    delay = statistics.median(flooded) / statistics.median(alone) - 1
    print(f"{len(alone)} jobs each, {sum(flooded):.0f} s of floods, {connected} connections: delayed by {delay:.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
