#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Weak scaling of geofem: the same number of nodes for each core, on more and more cores, flat MPI and hybrid.

    bench/geofem/weak.py [--cores 1,2,4] [--per-core 40] [--mpi mpich] [--ordering cm-rcm] [--repetitions 3]

Each number of cores runs as every `a x b` (threads by ranks) that has it. Prints a table to the error output and one
JSON document (schema "millrace-geofem-weak") with all that the program said. Parallel efficiency is that of one
iteration: more ranks take more iterations, as the preconditioner is each rank's own.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "python"))

from bars.launch import Launcher, RunFailed, run_json  # noqa: E402


def arguments() -> argparse.ArgumentParser:
    cores = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n <= (os.cpu_count() or 1)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", default=",".join(map(str, cores)), help="numbers of cores, the smallest first")
    parser.add_argument("--per-core", default="40", help="nodes for each core, N or NX,NY,NZ (40)")
    parser.add_argument("--mpi", default="mpich", choices=("mpich", "ompi"))
    parser.add_argument("--ordering", default="cm-rcm")
    parser.add_argument("--colours", default="10")
    parser.add_argument("--flat-only", action="store_true", help="no threads")
    parser.add_argument("--max-iterations", help="stop early: for times alone; nothing is verified then")
    parser.add_argument("--repetitions", type=int, default=3, help="rounds through all cases; medians count (3)")
    parser.add_argument("--timeout", type=float, default=900, help="bound of every run in seconds (900)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    return parser


def shapes(cores: int, flat_only: bool) -> list[tuple[int, int]]:
    """(threads, ranks) that make up a number of cores, flat MPI first."""
    return [(a, cores // a) for a in range(1, cores + 1) if cores % a == 0 and (a == 1 or not flat_only)]


def iteration_s(document: dict) -> float:
    return document["seconds"]["median"] / document["iterations"]


def measure(options: argparse.Namespace, threads: int, ranks: int) -> dict:
    launcher = Launcher(options.build.absolute(), pathlib.Path("none"), options.timeout)
    program = ["--per-core", options.per_core, "--threads", str(threads), "--ordering", options.ordering]
    program += ["--colours", options.colours]
    if options.max_iterations:
        program += ["--max-iterations", options.max_iterations]
    command = launcher.command("geofem", options.mpi, ranks, program, False)
    if options.mpi == "ompi":
        command[1:1] = ["--bind-to", "none"]
    expected = (0, 1) if options.max_iterations else (0,)
    return run_json(command, dict(os.environ), options.timeout, expected)


def summary(runs: list[dict], smallest: float | None) -> dict:
    """Of the rounds of one case; `smallest`: seconds of an iteration on the fewest cores."""
    seconds = statistics.median(map(iteration_s, runs))
    first = runs[0]
    return {
        "model": first["model"],
        "threads": first["threads"],
        "ranks": first["ranks"],
        "cores": first["threads"] * first["ranks"],
        "unknowns": first["unknowns"],
        "iterations": first["iterations"],
        "iteration_s": seconds,
        "gflops": first["flops_per_iteration"] / seconds * 1e-9,
        "fraction_of_limit": statistics.median(run["fraction_of_limit"] for run in runs),
        "efficiency": 1.0 if smallest is None else smallest / seconds,
        "verified": all(run["verified"] for run in runs),
        "runs": runs,
    }


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    try:
        cores = sorted({int(n) for n in options.cores.split(",")})
    except ValueError:
        parser.error(f"--cores: '{options.cores}' is not a list of whole numbers")
    cases = [shape for n in cores for shape in shapes(n, options.flat_only)]
    runs: dict[tuple[int, int], list[dict]] = {case: [] for case in cases}
    try:
        for _ in range(options.repetitions):
            for case in cases:
                runs[case].append(measure(options, *case))
    except RunFailed as problem:
        print(f"weak.py: {problem}", file=sys.stderr)
        return 1
    found: list[dict] = []
    for case in cases:
        found.append(summary(runs[case], found[0]["iteration_s"] if found else None))
    for one in found:
        print(
            f"{one['model']:>10}  {one['cores']:4} cores  {one['gflops']:8.2f} GFLOPS  "
            f"{one['iterations']:5} iterations  {one['fraction_of_limit']:5.2f} of the limit  "
            f"efficiency {one['efficiency']:5.2f}",
            file=sys.stderr,
        )
    document = {"schema": "millrace-geofem-weak", "version": 1, "per_core": options.per_core, "results": found}
    print(json.dumps(document, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
