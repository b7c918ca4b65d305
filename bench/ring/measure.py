# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Measures one case: its limits and its ways in turns, round after round, and judges it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import statistics
import time

from bars.launch import RunFailed

from . import peers
from .cases import DISK, Case, Need, Way
from .nodes import Nodes

MIB = 1 << 20
SETTLED_S = 2.5  # MPI_Init waits until the files of posix_stage are two seconds old
PARTS = ("init", "read", "all")


@dataclasses.dataclass
class Run:
    """What a way gave, one figure of each round."""

    mib_s: list[float] = dataclasses.field(default_factory=list)
    open_ms: list[float] = dataclasses.field(default_factory=list)
    size: int = 0
    problem: str = ""
    parts: dict[str, list[float]] = dataclasses.field(default_factory=dict)  # other times of each round, in seconds


@dataclasses.dataclass
class Result:
    case: Case
    mpi: str
    runs: dict[str, Run] = dataclasses.field(default_factory=dict)
    limits: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    skipped: str = ""

    def rates(self, name: str) -> list[float]:
        """Of a way or of a limit, round by round."""
        return self.runs[name].mib_s if name in self.runs else self.limits.get(name, [])

    def ratio(self, way: str, over: str) -> float | None:
        """Median against median: rounds of two ways need not be equally many, when one of them failed."""
        ours, theirs = self.rates(way), self.rates(over)
        return statistics.median(ours) / statistics.median(theirs) if ours and theirs else None

    def verdict(self, way: str) -> str:
        run = self.runs[way]
        if run.problem:
            return f"failed: {run.problem}"
        needs = [need for need in self.case.needs if need.way == way]
        verdicts = [self._judge(need) for need in needs]
        if self.case.open_ms:
            verdicts.append("pass" if statistics.median(run.open_ms) <= self.case.open_ms else "short")
        for word in ("short", "open"):
            if word in verdicts:
                return word if word == "short" else "not comparable"
        return "pass" if verdicts else "-"

    def _judge(self, need: Need) -> str:
        ratio = self.ratio(need.way, need.over)
        if ratio is None:
            return "open"
        return "pass" if ratio >= need.least else "short"

    @property
    def good(self) -> bool:
        return not self.skipped and all(self.verdict(way) in ("pass", "-") for way in self.runs)


def network_limit(case: Case, link: float) -> float:
    """MiB/s at which the busiest link is full when every rank writes as much as any other.

    Of each server's share of the file, one Nth comes from ranks on its own node and the rest over its link; of
    what a node's ranks write, all goes out over its link but what it keeps as a server.
    """
    n, s = case.shape.nodes, case.servers
    into_server = (1 / s) * (n - 1) / n
    out_of_node = (1 / n) * (1 if s < n else (s - 1) / s)
    busiest = max(into_server, out_of_node)
    return link / busiest if busiest else float("inf")


def count_init(runs: dict[str, Run]) -> None:
    """Adds to the times of reading the time that MPI_Init took longer than the stock library's, in the median."""
    stock, staged = runs["stock"], runs["posix-stage"]
    if stock.problem or staged.problem:
        return
    usual = statistics.median(stock.parts["init"])
    times = zip(staged.parts["init"], staged.parts["read"], strict=True)
    staged.mib_s = [staged.size / MIB / (read + max(0.0, init - usual)) for init, read in times]


def cold_words(case: Case) -> tuple[list[str], list[str]]:
    """The arguments of the launch that writes the file, and of the launch that reads it."""
    if case.program != "ior":
        # Many small independent writes would take minutes on a network file system.
        written = ["-e", "-c"] if case.program == "hdf5" and "-c" not in case.arguments else ["-e"]
        return [*case.arguments, *written], [*case.arguments, "-r"]
    mib = int(case.arguments[case.arguments.index("--at-least") + 1].removesuffix("m"))
    block = mib * 1024 // case.shape.ranks  # KiB of each rank
    written = ["-t", f"{min(block, 1024)}k", "-b", f"{block}k", "-w", "-W", "-e"]
    return ["-a", "MPIIO", *written], [*case.arguments, "-r", "-R", "-E"]


def forget_cached() -> None:
    """All files go out of the machine's memory, which the nodes share."""
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


class Measure:
    """Runs cases on nodes that are up, into `folder`, which all of them see."""

    def __init__(self, nodes: Nodes, folder: pathlib.Path, mpi: str, rounds: int, repetitions: int, tell) -> None:
        self._nodes, self._folder, self._mpi = nodes, folder, mpi
        self._rounds, self._repetitions, self._tell = rounds, repetitions, tell

    def case(self, case: Case) -> Result:
        result = Result(case, self._mpi, {way.name: Run() for way in case.ways})
        for turn in range(self._rounds):
            for way in case.ways:
                self._tell(f"{case.name}: {way.name}, round {turn + 1} of {self._rounds}")
                if not result.runs[way.name].problem:
                    self._way(case, way, result.runs[way.name])
            size = max((run.size for run in result.runs.values()), default=0)
            if size:
                self._limits(case, size, result)
        if case.inputs:
            count_init(result.runs)
        return result

    def _target(self, way: Way) -> pathlib.Path:
        return (self._folder if way.target == DISK else peers.MOUNT) / "file"

    def _way(self, case: Case, way: Way, run: Run) -> None:
        if case.reads:
            return self._cold_read(case, way, run)
        if case.inputs:
            return self._input(case, way, run)
        repetitions = case.repetitions or self._repetitions
        # Agents of this job are there from the second file on.
        if way.settings is not None:
            repetitions = max(2, repetitions)
        words = [*case.arguments, *way.arguments, "-i", str(repetitions), "-o", str(self._target(way))]
        try:
            document = self._nodes.mpi(case.program, self._mpi, words, way.settings)
        except RunFailed as reason:
            return self._failed(run, reason)
        run.size = document["bytes"]
        if case.program == "btio":  # all time from open to close: ranks wait for data between its I/O calls too
            seconds = statistics.median(one["total_s"] for one in document["repetitions"])
            run.mib_s.append(run.size / (1 << 20) / seconds)
        else:
            run.mib_s.append(document["write"]["median_mib_s"])
        opens = [one["open_s"] * 1000 for one in document.get("repetitions", document["write"].get("repetitions", []))]
        run.open_ms.append(statistics.median(opens))

    def _failed(self, run: Run, reason: RunFailed) -> None:
        run.problem = str(reason)[:200]
        self._nodes.restart()

    def _cold_read(self, case: Case, way: Way, run: Run) -> None:
        """One launch reads one new file, which no node has in its memory."""
        target = str(self._target(way))
        writing, reading = cold_words(case)
        # While HDF5 and PnetCDF make a file, they read what other ranks have written. On one node a mount is coherent.
        writers = range(0) if case.program == "ior" else range(1)
        try:
            self._nodes.mpi(
                case.program, self._mpi, [*writing, "-k", "-o", target], None, ranks=case.shape.ranks, hosts=writers
            )
            forget_cached()
            words = [*reading, *way.arguments, "-k", "--no-warm", "-o", target]
            document = self._nodes.mpi(case.program, self._mpi, words, way.settings)
            self._nodes.call(0, ["rm", "-f", target])
        except RunFailed as reason:
            return self._failed(run, reason)
        run.size = document["bytes"]
        if not document["verified"]:
            run.problem = "it read wrong bytes"
        run.mib_s.append(document["read"]["median_mib_s"])
        if case.program == "ior":
            run.open_ms.append(document["read"]["repetitions"][0]["open_s"] * 1000)

    def _input(self, case: Case, way: Way, run: Run) -> None:
        """One launch reads one new file, which no node has in its memory."""
        target = str(self._target(way))
        hosts = range(1, 1 + way.nodes)
        try:
            self._nodes.call(
                0, [str(self._nodes.build / f"bin/bench/deck-{self._mpi}"), *case.arguments, "-w", "-o", target]
            )
            time.sleep(SETTLED_S)
            forget_cached()
            settings = way.settings if way.settings is None else way.settings | {"MILLRACE_POSIX_STAGE": target}
            words = [*case.arguments, "-R", "-o", target]
            document = self._nodes.mpi(case.program, self._mpi, words, settings, hosts=hosts)
            self._nodes.call(0, ["rm", "-f", target])
        except RunFailed as reason:
            return self._failed(run, reason)
        run.size = document["bytes"]
        if not document["verified"]:
            run.problem = "it read wrong bytes"
        for part in PARTS:
            run.parts.setdefault(part, []).append(document[f"{part}_s"])
        run.mib_s.append(run.size / MIB / document["read_s"])
        run.open_ms.append(document["open_s"] * 1000)

    def _limits(self, case: Case, size: int, result: Result) -> None:
        found: dict[str, float] = {}
        with contextlib.suppress(RunFailed):  # a limit that is not there is shown as such
            if "network" in case.limits and case.shape.bandwidth and case.shape.nodes > 1:
                found["network"] = network_limit(case, self._nodes.link(1, 0))
            if "disk" in case.limits:
                found["disk"] = self._nodes.stream(0, self._folder / "stream", size)
            if "own" in case.limits:
                found["own"] = self._nodes.stream(0, peers.MOUNT / "stream", size)
            if "other" in case.limits and case.shape.nodes > 1:
                found["other"] = self._nodes.stream(1, peers.MOUNT / "stream", size)
        if "network" in found and "disk" in found and "server" in case.limits:
            found["server"] = min(found["network"], found["disk"])
        for name, rate in found.items():
            result.limits.setdefault(name, []).append(rate)
