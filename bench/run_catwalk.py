#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Figures 5 to 9 of the Catwalk-ROMIO paper, made smaller, on virtual clusters with a slow disk: as root."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import pathlib
import shlex
import signal
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import catwalk  # noqa: E402, F401  (the places of the modules below)
from bars.launch import RunFailed  # noqa: E402
from bars.report import machine  # noqa: E402
from catwalk import cases, checks, draw  # noqa: E402
from millrace.doctor import scheduling  # noqa: E402
from millrace.tools.cluster import lifecycle, slow_disk, state  # noqa: E402
from ring.nodes import Nodes, Shape  # noqa: E402

STREAM_BYTES = 64 << 20
# No strategy reads the file: the only reads are those that verify it, after the time was taken.
READ_RATE = "none"


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", default="*", help="which: 5a,5b,6a,6b,7,8a,8b,9a,9b, with wildcards (*)")
    parser.add_argument("--scale", type=int, default=16, help="bytes of a node and sort buffers by this (16)")
    parser.add_argument("--buffers", default="16,64,256,1024", help="the paper's sort buffers, MiB (16,64,256,1024)")
    parser.add_argument("--networks", default="both", choices=["both", "1gbit", "unshaped"], help="(both)")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each point, whose median counts (1)")
    parser.add_argument("--minutes", type=float, default=25, help="no point starts after this (25)")
    parser.add_argument("--mpi", default="mpich", choices=["mpich", "ompi"], help="(mpich)")
    parser.add_argument("--disk-rate", default="40MiB/s", help="of the server's disk (40MiB/s)")
    parser.add_argument("--seek-time", default="5ms", help="of the server's disk (5ms)")
    parser.add_argument("--format", default="png", choices=["png", "svg"], help="of the figures (png)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build", help="where files are written (build)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("catwalk-results"), help="folder for results")
    parser.add_argument("--timeout", type=float, default=60, help="bound of every run in seconds (60)")
    parser.add_argument("--go-on", action="store_true", help="keep the points that the folder for results has")
    parser.add_argument("--list", action="store_true", help="show the points and stop")
    return parser


@dataclasses.dataclass
class Measured:
    point: cases.Point
    settings: dict[str, str]
    arguments: list[str]
    mib_s: list[float] = dataclasses.field(default_factory=list)
    size: int = 0
    problem: str = ""

    def to_json(self) -> dict:
        return {
            "name": self.point.name,
            "figure": self.point.figure.key,
            "network": cases.NETWORKS[self.point.network],
            "strategy": self.point.label,
            "sort_buffer_mib_of_the_paper": self.point.buffer_mib or None,
            "program": self.point.figure.program,
            "arguments": self.arguments,
            "settings": self.settings,
            "bytes": self.size,
            "mib_s": self.mib_s,
            "problem": self.problem,
        }


class Driver:
    def __init__(self, options: argparse.Namespace, folder: pathlib.Path, group: pathlib.Path | None) -> None:
        self._options, self._folder, self._group = options, folder, group
        self.measured: list[Measured] = []
        self.disk: list[float] = []
        self.left: list[str] = []  # points that were not run
        self.failed = False  # a network had no disk to compare with
        self._end = time.monotonic() + 60 * options.minutes

    def go_on(self, chosen: list[tuple[str, list[cases.Point]]]) -> None:
        """From what an earlier run has written."""
        path = self._options.out / "catwalk.json"
        document = json.loads(path.read_text()) if path.exists() else {"points": [], "disk_mib_s": []}
        wanted = {point.name: point for _, points in chosen for point in points}
        self.disk = document["disk_mib_s"]
        for one in document["points"]:
            point = wanted.get(one["name"])
            if point is None or not one["mib_s"]:
                continue
            scale = self._options.scale
            known = Measured(point, point.settings(scale), point.figure.arguments(scale, point.label))
            if (known.arguments, known.settings) == (one["arguments"], one["settings"]):
                known.mib_s, known.size = one["mib_s"], one["bytes"]
                self.measured.append(known)

    def network(self, network: str, points: list[cases.Point], published: dict) -> None:
        o = self._options
        known = {one.point.name for one in self.measured}
        points = [point for point in points if point.name not in known]
        if not points or time.monotonic() > self._end:
            self.left += [point.name for point in points]
            return
        shape = Shape(cases.NODES, cases.PER_NODE, network, o.disk_rate, o.seek_time, READ_RATE, str(self._folder))
        with Nodes(shape, o.build, [self._folder], o.timeout, self._group) as nodes:
            hopeless: set[tuple[str, str]] = set()
            try:
                self.disk.append(nodes.stream(0, self._folder / "stream", STREAM_BYTES))
            except RunFailed as problem:
                print(f"{cases.NETWORKS[network]}: the disk's own rate cannot be measured: {problem}", flush=True)
                self.left += [point.name for point in points]
                self.failed = True
                return
            for point in points:
                if time.monotonic() > self._end or (point.figure.key, point.label) in hopeless:
                    self.left.append(point.name)
                    continue
                self.measured.append(self._measure(nodes, point))
                self._show(self.measured[-1])
                if self.measured[-1].problem.startswith("no end"):
                    hopeless.add((point.figure.key, point.label))  # a smaller buffer takes longer
                # After each point, so that an interrupted run has not been for nothing.
                write(self, o, published, checks.checks(self.curves()))

    def _measure(self, nodes: Nodes, point: cases.Point) -> Measured:
        o = self._options
        one = Measured(point, point.settings(o.scale), point.figure.arguments(o.scale, point.label))
        for _ in range(o.rounds):
            try:
                words = [*one.arguments, "-i", str(point.figure.files), "-o", str(self._folder / "file")]
                document = nodes.mpi(point.figure.program, o.mpi, words, one.settings)
            except RunFailed as problem:
                one.problem = str(problem)
                nodes.restart()
                return one
            one.size = document["bytes"]
            if point.figure.program == "btio":  # from open to close: what waits between two outputs counts
                one.mib_s.append(one.size / (1 << 20) / document["repetitions"][-1]["total_s"])
            else:
                one.mib_s.append(document["write"]["repetitions"][-1]["mib_s"])
        return one

    def _show(self, one: Measured) -> None:
        said = f"{statistics.median(one.mib_s):.3g} MiB/s" if one.mib_s else f"failed: {one.problem}"
        print(f"{one.point.name}: {said}", flush=True)

    def curves(self) -> checks.Curves:
        rates = {
            (m.point.figure.key, m.point.network, m.point.label, m.point.buffer_mib): statistics.median(m.mib_s)
            for m in self.measured
            if m.mib_s
        }
        return checks.Curves(rates, statistics.median(self.disk) if self.disk else 0)


def write(driver: Driver, options: argparse.Namespace, published: dict, found: list[checks.Check]) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    document = {
        "schema": "millrace-catwalk",
        "version": 1,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "machine": machine(options.dir),
        "options": {k: str(v) if isinstance(v, pathlib.Path) else v for k, v in vars(options).items()},
        "rule": cases.__doc__,
        "disk_mib_s": driver.disk,
        "not_run": driver.left,
        "points": [one.to_json() for one in driver.measured],
        "checks": [dataclasses.asdict(check) for check in found],
        "published": published,
    }
    (options.out / "catwalk.json").write_text(json.dumps(document, indent=1) + "\n")
    (options.out / "checks.txt").write_text("".join(check.line() + "\n" for check in found))


def prepare(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[tuple[str, list[cases.Point]]]:
    """The points of each cluster."""
    try:
        buffers = [int(part) for part in options.buffers.split(",")]
    except ValueError:
        parser.error(f"--buffers: '{options.buffers}' is not a list of whole numbers")
    if options.scale < 1 or min(buffers) < options.scale:
        parser.error("--scale: at least 1, and no sort buffer may become smaller than 1 MiB")
    networks = {"both": list(cases.NETWORKS), "1gbit": ["1gbit"], "unshaped": [""]}[options.networks]
    chosen = cases.phases(networks, options.figures.split(","), buffers)
    if not chosen:
        parser.error("no point is left: see --list")
    return chosen


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    options.build, options.dir = options.build.absolute(), options.dir.absolute()
    if not (options.build / f"bin/bench/ior-{options.mpi}").exists():
        parser.error(f"{options.build} holds no bin/bench/ior-{options.mpi}: build the benchmarks first")
    program = slow_disk.find_program({"MILLRACE_PREFIX": str(options.build)})
    spec = state.Spec("bench", cases.NODES, disk_rate_bytes=1 << 20, slow_program=program)
    try:
        lifecycle.check(spec)
    except state.ClusterError as error:
        parser.error(str(error))


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    chosen = prepare(parser, options)
    if options.list:
        for _, points in chosen:
            print(*(point.name for point in points), sep="\n")
        return 0
    check(parser, options)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    published = json.loads((ROOT / "bench/catwalk/published.json").read_text())
    begin = time.monotonic()
    with scheduling.one_group() as group, tempfile.TemporaryDirectory(prefix="catwalk-", dir=options.dir) as folder:
        driver = Driver(options, pathlib.Path(folder), group)
        if options.go_on:
            driver.go_on(chosen)
        for network, points in chosen:
            driver.network(network, points, published)
    found = checks.checks(driver.curves())
    write(driver, options, published, found)
    if driver.left:
        print(f"not run, {len(driver.left)} points: {'; '.join(driver.left)}")
    print(*(one.line() for one in found), sep="\n")
    reason = draw.available()
    made = [] if reason else draw.draw(options.out, driver.curves(), published, options.format)
    print(reason or f"drawn: {', '.join(path.name for path in made)}")
    print(f"{len(driver.measured)} points in {time.monotonic() - begin:.0f} s; {options.out}/catwalk.json, checks.txt")
    return 0 if not driver.failed and all(one.mib_s for one in driver.measured) else 1


if __name__ == "__main__":
    sys.exit(main())
