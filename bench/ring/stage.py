#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""One file, read whole by every node, staged: the time of many nodes over that of one other node.

    sudo bench/ring/stage.py [--size 256m] [--bandwidth 1gbit] [--mpi mpich] [--repetitions 5] [--nodes 2 4 8]

The first of --nodes has the source and one other node. All run in turns, so that a busy machine is slow for each of
them; medians count. Prints a table and, with --json FILE, all the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = {
    "mpich": ["mpiexec.hydra", "-ppn", "1"],
    "ompi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--map-by", "ppr:1:node"],
}
BARS = {4: 1.2, 8: 1.3}
BOUND_S = 300


def cluster(what: str, name: str, *rest: object, **more: object) -> str:
    command = [sys.executable, "-m", "millrace", "cluster", what, "--name", name, *map(str, rest)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOUND_S, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    return done.stdout


def measure(options: argparse.Namespace, nodes: int, file: Path) -> list[float]:
    """Seconds of open and read, of the slowest node: one launch; its first repetition starts the agents."""
    program = options.build / "bin/bench" / f"whole-{options.mpi}"
    run = [sys.executable, "-m", "millrace", "run", "--stage", "whole", "--", *LAUNCH[options.mpi], "-n", nodes]
    out = cluster(
        "exec", f"stage{nodes}", "0", "--", *run, program, "-b", options.size, "-t", "4m", "-i", 2, "-R", "-o", file
    )
    document = json.loads(out[out.index("{") :])
    if not document["verified"]:
        sys.exit("wrong bytes were read")
    return [one["seconds"] for one in document["read"]["repetitions"][1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", default="256m")
    parser.add_argument("--bandwidth", default="1gbit")
    parser.add_argument("--mpi", default="mpich", choices=sorted(LAUNCH))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = f"{ROOT / 'python'}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")
    file = options.build / "stage.in"
    times: dict[int, list[float]] = {nodes: [] for nodes in options.nodes}
    try:
        for nodes in options.nodes:
            cluster("up", f"stage{nodes}", "--nodes", nodes, "--bandwidth", options.bandwidth)
        for _ in range(options.repetitions):
            for nodes in options.nodes:
                times[nodes] += measure(options, nodes, file)
    finally:
        for nodes in options.nodes:
            cluster("down", f"stage{nodes}")
    base = statistics.median(times[options.nodes[0]])
    print("| nodes | median, s | fastest, s | of the first row | bar |\n| --- | --- | --- | --- | --- |")
    for nodes, seconds in times.items():
        median = statistics.median(seconds)
        print(f"| {nodes} | {median:.2f} | {min(seconds):.2f} | {median / base:.2f} | {BARS.get(nodes, '')} |")
    if options.json:
        options.json.write_text(json.dumps({"schema": "millrace-stage", "version": 1, "seconds": times}))


if __name__ == "__main__":
    main()
