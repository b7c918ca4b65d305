# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Drives the demo: first on this machine, then on virtual nodes, in turns within a budget of time."""

from __future__ import annotations

import datetime
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millrace import __version__, prefix
from millrace.doctor import machine, scheduling
from millrace.run.command import EXIT_BAD_USE, tell
from millrace.run.signals import ended_by_signals
from millrace.tools.cluster.state import ClusterError
from millrace.tools.demo import cases, nodes, report, runner
from millrace.tools.demo.here import Here
from millrace.tools.session import RunFailed, output

SCHEMA = "millrace.demo/2"
_PART_OF_MACHINE = 0.6  # of the time, if virtual nodes follow


@dataclass
class Options:
    output: Path
    quick: bool = False
    only: str | None = None
    budget_s: float = 150
    picture: Path | None = None
    nodes: bool = True


@dataclass
class Part:
    """The results of one place."""

    key: str
    title: str
    stock: str = ""
    skipped: str = ""
    results: list[runner.Result] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {
            "place": self.key,
            "title": self.title,
            "stock": self.stock,
            "skipped": self.skipped or None,
            "results": [result.document() for result in self.results],
        }


class Demo:
    """One demo, and what it has found so far."""

    def __init__(self, options: Options, found: prefix.Prefix, work: Path) -> None:
        self._options, self._prefix, self._work = options, found, work
        self._begin = time.monotonic()
        self.parts: list[Part] = []
        self.notes: list[str] = []

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begin

    def run(self, group: Path | None) -> None:
        reason = self._no_nodes()
        share = 1 if reason else _PART_OF_MACHINE
        here = Here(self._prefix, self._work)
        chosen = self._chosen(cases.all_cases(self._prefix, self._options.quick))
        if chosen:
            self._part("machine", here, chosen, group, self._begin + share * self._options.budget_s)
        if reason:
            self.parts.append(Part("nodes", f"{nodes.NODES} virtual nodes", skipped=reason))
        elif self._chosen(nodes.cases(self._prefix, True, True) + nodes.cases(self._prefix, True, False)):
            self._on_nodes(group)

    def _no_nodes(self) -> str:
        """Why the virtual nodes are left out; empty if they are not."""
        if not self._options.nodes:
            return "--no-nodes was given"
        return nodes.missing()

    def _chosen(self, all_of: list[cases.Case]) -> list[cases.Case]:
        return [case for case in all_of if self._options.only is None or self._options.only in case.name]

    def _on_nodes(self, group: Path | None) -> None:
        tell(f"{nodes.NODES} virtual nodes start, {self.seconds:.0f} s")
        try:
            with nodes.up(self._prefix, self._work, group) as made:
                self.notes += [made.note] if made.note else []
                chosen = self._chosen(nodes.cases(self._prefix, self._options.quick, made.shared))
                self._part("nodes", made, chosen, group, self._begin + self._options.budget_s)
        except (RunFailed, ClusterError) as error:
            self.parts.append(Part("nodes", f"{nodes.NODES} virtual nodes", skipped=f"they do not start: {error}"))

    def _part(
        self, key: str, place: runner.Place, chosen: list[cases.Case], group: Path | None, deadline: float
    ) -> None:
        """Runs round by round, so that at the end of the time each case has pairs."""
        part = Part(key, place.title, place.stock, results=[runner.Result(case) for case in chosen])
        self.parts.append(part)
        print(f"{place.title}; stock is {place.stock}", file=sys.stderr, flush=True)
        runnable = [result for result in part.results if not result.case.missing]
        for result in part.results:
            if result.case.missing:
                tell(f"{result.case.name}: skipped, {result.case.missing}")
        counts = {id(result): 1 if self._options.quick else result.case.pairs for result in runnable}
        total, number = 2 * sum(counts.values()), 0
        for turn in range(max(counts.values(), default=0)):
            first = runner.STOCK if turn % 2 == 0 else runner.MILLRACE
            for result in (one for one in runnable if turn < counts[id(one)]):
                if result.error or time.monotonic() > deadline:
                    number += 2
                    continue

                def told(side: str, result: runner.Result = result) -> None:
                    nonlocal number
                    number += 1
                    name = {runner.STOCK: "stock", runner.MILLRACE: "Millrace"}[side]
                    line = f"{number} of {total}: {result.case.name}, {name}, {self.seconds:.0f} s"
                    print(line, file=sys.stderr, flush=True)

                runner.pair(result, place, first, group, told)
                if result.error:
                    tell(f"{result.case.name}: {result.error}")
        waiting = [one.case.name for one in runnable if not one.pairs and not one.error]
        if waiting:
            self.notes.append(f"Not run, because the time had run out: {', '.join(waiting)}.")
        short = [one.case.name for one in runnable if one.pairs and len(one.pairs) < counts[id(one)] and not one.error]
        if short:
            self.notes.append(f"Fewer pairs than planned, because the time had run out: {', '.join(short)}.")

    def document(self, limit: float | None) -> dict[str, Any]:
        memory = machine.memory()["total"] or 0
        ran = [result for part in self.parts for result in part.results if result.pairs]
        if ran and all(result.route().startswith("direct") for result in ran):
            self.notes.append(
                "Millrace handled no call of these programs, so this compares the MPI library with "
                "itself. Run `millrace doctor` to see why."
            )
        return {
            "schema": SCHEMA,
            "version": __version__,
            "quick": self._options.quick,
            "seconds": self.seconds,
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "machine": f"{os.cpu_count()} cores, {memory / 2**30:.0f} GiB, Linux {platform.release()}",
            "command": "millrace demo" + (" --quick" if self._options.quick else ""),
            "notes": self.notes,
            "limit_mib_s": limit,
            "parts": [part.document() for part in self.parts],
        }


def run(options: Options) -> int:
    """The whole demo; 0 if every program that ran gave identical files."""
    if options.picture is not None and options.picture.suffix != ".svg":
        tell(f"--picture {options.picture}: the picture is an SVG file; give a name that ends with .svg")
        return EXIT_BAD_USE
    try:
        found = prefix.find()
        options.output.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix="work-", dir=options.output.absolute()))
    except (prefix.PrefixError, OSError) as error:
        tell(str(error))
        return EXIT_BAD_USE
    with ended_by_signals():
        try:
            demo = Demo(options, found, work)
            limit = measure_limit(found, work)
            with scheduling.one_group() as group:
                demo.run(group)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return report.publish(demo.document(limit), options.output, options.picture)


def measure_limit(found: prefix.Prefix, work: Path) -> float | None:
    """MiB/s of one sequential stream with fsync, by bench/limit; None if it is not built."""
    program = cases.bench_program(found, "limit")
    if not program.is_file():
        return None
    try:
        return float(json.loads(output([program, "-o", work / "limit", "-b", "64m", "-i", "1"], 120))["limit_mib_s"])
    except (RunFailed, OSError, ValueError, KeyError):
        return None
