#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Measures files of several nodes, on virtual clusters that it makes and removes: as root."""

from __future__ import annotations

import argparse
import itertools
import pathlib
import shutil
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import ring  # noqa: E402, F401  (the places of the modules below)
from bars.launch import RunFailed  # noqa: E402
from millrace.doctor import scheduling  # noqa: E402
from millrace.tools.cluster import lifecycle, state  # noqa: E402
from ring import cases, measure, peers, report  # noqa: E402
from ring.nodes import Nodes  # noqa: E402

BARS = (1, 2, 3, 4, 5, 6, 7, 8)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bars", default="1,2,3,5", help="which bars of 1 to 8 (1,2,3,5)")
    parser.add_argument("--patterns", default="*", help="patterns, with wildcards, by commas (*)")
    parser.add_argument("--peers", default="glusterfs", help="of bars 2 and 6 to 8 (glusterfs; glusterfs,moosefs)")
    parser.add_argument("--mpi", default="mpich", help="which MPI libraries (mpich; mpich,ompi)")
    parser.add_argument("--nodes", type=int, default=4, help="nodes of bars 1 to 3 and 6 to 8 (4)")
    parser.add_argument("--per-node", type=int, default=4, help="ranks on each of them (4)")
    parser.add_argument("--bandwidth", default="1gbit", help="of each node's link (1gbit)")
    parser.add_argument("--at-most", default="64m", help="largest file of a run (64m; bar 3: 256m)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, in each of which every way runs once (3)")
    parser.add_argument("--repetitions", type=int, default=3, help="files of each run, whose median counts (3)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build", help="where files are written (build)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("ring-results"), help="folder for the results")
    parser.add_argument("--timeout", type=float, default=90, help="bound of every run in seconds (90)")
    parser.add_argument("--list", action="store_true", help="show the cases and stop")
    return parser


def selection(parser: argparse.ArgumentParser, options: argparse.Namespace) -> cases.Selection:
    try:
        bars = {int(part) for part in options.bars.split(",")}
    except ValueError:
        parser.error(f"--bars: '{options.bars}' is not a list of whole numbers")
    if bars - set(BARS):
        parser.error("--bars: this program measures 1 to 8; run_bars.py and run_catwalk.py have others")
    wanted = options.peers.split(",") if options.peers else []
    if set(wanted) - set(peers.NAMES):
        parser.error(f"--peers: there is {' and '.join(peers.NAMES)}, not '{options.peers}'")
    if set(options.mpi.split(",")) - {"mpich", "ompi"}:
        parser.error(f"--mpi: there is mpich and ompi, not '{options.mpi}'")
    return cases.Selection(
        bars,
        options.patterns.split(","),
        wanted,
        options.nodes,
        options.per_node,
        options.bandwidth,
        options.at_most,
    )


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    options.build, options.dir = options.build.absolute(), options.dir.absolute()
    if not (options.build / "bin/bench/limit").exists():
        parser.error(f"{options.build} holds no bin/bench/limit: build the benchmarks first")
    if not options.dir.is_dir():
        parser.error(f"--dir: {options.dir} is not a folder")
    try:
        lifecycle.check(state.Spec("bench", options.nodes))
    except state.ClusterError as error:
        parser.error(str(error))


def tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


class Driver:
    def __init__(self, options: argparse.Namespace, group: pathlib.Path | None, folder: pathlib.Path) -> None:
        self.options, self._group, self._folder = options, group, folder
        self.results: list[measure.Result] = []
        self._recorded = {k: str(v) if isinstance(v, pathlib.Path) else v for k, v in vars(options).items()}

    def run(self, chosen: list[cases.Case]) -> None:
        """Cases of one shape and peer share a cluster."""
        print(report.row_text(report.HEADINGS))
        kind = lambda case: (case.bar, case.shape, case.peer)  # noqa: E731
        for (_, shape, peer), group in itertools.groupby(chosen, kind):
            same = list(group)
            todo = [(case, mpi) for mpi in self.options.mpi.split(",") for case in same]
            reason = cases.unavailable(todo[0][0], shutil.which("iperf3") is not None)
            prepare = (lambda nodes, peer=peer: peers.set_up(peer, nodes)) if peer else None
            if not reason:
                try:
                    self._on_nodes(shape, prepare, todo)
                    continue
                except RunFailed as problem:
                    reason = f"the nodes: {problem}"
            for case, mpi in todo:
                if not any(r.case is case and r.mpi == mpi for r in self.results):
                    self._keep(measure.Result(case, mpi, skipped=reason))

    def _on_nodes(self, shape, prepare, todo: list[tuple[cases.Case, str]]) -> None:
        options = self.options
        with Nodes(shape, options.build, [self._folder], options.timeout, self._group, prepare) as nodes:
            for case, mpi in todo:
                if not (options.build / f"bin/bench/{case.program}-{mpi}").exists():
                    self._keep(measure.Result(case, mpi, skipped=f"{case.program}-{mpi} is not built"))
                    continue
                one = measure.Measure(nodes, self._folder, mpi, options.rounds, options.repetitions, tell)
                self._keep(one.case(case))

    def _keep(self, result: measure.Result) -> None:
        self.results.append(result)
        tell("")
        for row in report.rows(result):
            print(report.row_text(row), flush=True)
        # After every case, so that an interrupted run has not been for nothing.
        report.write(self.options.out, report.document(self.results, self._folder, self._recorded), self.results)


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    chosen = cases.select(selection(parser, options))
    if options.list:
        for case in chosen:
            print(case.name, case.program, " ".join(case.arguments), "|", ", ".join(way.name for way in case.ways))
        return 0
    if not chosen:
        parser.error("no case is left: see --list")
    check(parser, options)
    # Whoever ends this program also wants the run that it has started to end, and its nodes and files to go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begin = time.monotonic()
    with scheduling.one_group() as group, tempfile.TemporaryDirectory(prefix="ring-", dir=options.dir) as folder:
        driver = Driver(options, group, pathlib.Path(folder))
        driver.run(chosen)
    print(f"{len(driver.results)} cases in {time.monotonic() - begin:.0f} s; {options.out}/ring.md and ring.json")
    return 0 if all(result.good for result in driver.results) else 1


if __name__ == "__main__":
    sys.exit(main())
