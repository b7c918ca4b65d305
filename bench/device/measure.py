# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the points, round by round, and keeps what they say."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import statistics
import time

from bars.launch import Launcher, RunFailed, run_json

from .plan import Point

NO_TIME = "no time was left (--minutes)"
ONE_DEVICE = "there is one device: as ascending"


@dataclasses.dataclass
class Measured:
    point: Point
    documents: list[dict] = dataclasses.field(default_factory=list)
    problem: str = ""

    def to_json(self) -> dict:
        return {"name": self.point.name, **dataclasses.asdict(self.point)} | {
            "problem": self.problem,
            "documents": self.documents,
        }


class Results:
    """Looks things up in what was measured. Rates in MiB/s; 0 where there is none.

    `value` is what a round says of its repetitions: the mean, as in the papers; ratios are made of medians.
    """

    def __init__(self, measured: list[Measured], limits: dict[int, float]) -> None:
        self.measured = measured
        self.limits = limits  # bytes -> one stream to the disk

    def of(self, part: str, **wanted: object) -> list[Measured]:
        return [
            one
            for one in self.measured
            if one.point.part == part and all(getattr(one.point, key) == value for key, value in wanted.items())
        ]

    def sizes(self, one: Measured) -> list[int]:
        return [row["bytes_per_rank"] for row in one.documents[0]["sizes"]] if one.documents else []

    def rate(self, one: Measured, size: int, direction: str, value: str = "mean") -> float:
        return statistics.fmean(self.rates(one, size, direction, value) or [0])

    def rates(self, one: Measured, size: int, direction: str, value: str) -> list[float]:
        rows = [row for document in one.documents for row in document["sizes"] if row["bytes_per_rank"] == size]
        return [row[f"{direction}_mib_s"][value] for row in rows]

    def reason(self, part: str, **wanted: object) -> str:
        """Why there is nothing of it."""
        found = self.of(part, **wanted)
        return next((one.problem for one in found if one.problem), "" if found else "not asked for")


class Driver:
    def __init__(self, launcher: Launcher, mpi: str, folder: pathlib.Path, rounds: int, minutes: float) -> None:
        self._launcher, self._mpi, self._folder, self._rounds = launcher, mpi, folder, rounds
        self._end = time.monotonic() + 60 * minutes
        self._no_device = ""
        self._devices = 0  # not known yet
        self.left: list[str] = []  # for which there was no time
        self.limits: dict[int, float] = {}

    def out_of_time(self, name: str) -> bool:
        late = time.monotonic() > self._end
        if late and name not in self.left:
            self.left.append(name)
        return late

    def run(self, points: list[Point]) -> list[Measured]:
        """Methods of the same ranks, language and buffer take turns in each of the rounds, there and back."""
        measured = [Measured(point) for point in points]
        groups: dict[tuple, list[Measured]] = {}
        for one in measured:
            p = one.point
            key = (p.part, p.ranks, p.language, p.buffer) if p.program == "fpp" else (p.name,)
            groups.setdefault(key, []).append(one)
        for group in groups.values():
            for turn in range(self._rounds if group[0].point.program == "fpp" else 1):
                for one in group if turn % 2 == 0 else reversed(group):
                    self._once(one)
        return measured

    def _once(self, one: Measured) -> None:
        point = one.point
        if point.part == "device" and self._no_device:
            one.problem = self._no_device
        if point.mapping == "spread" and self._devices == 1:
            one.problem = ONE_DEVICE
        if one.problem:
            return
        if self.out_of_time(point.name):
            one.problem = "" if one.documents else NO_TIME
            return
        arguments = list(point.arguments)
        if point.program == "fpp":
            arguments += ["-o", str(self._folder)]
        try:
            if point.ranks:
                document = self._launcher.run(point.program, self._mpi, point.ranks, arguments, False)
            else:
                program = self._launcher.programs / point.program
                document = run_json([str(program), *arguments], dict(os.environ), self._launcher.timeout_s)
        except RunFailed as problem:
            one.problem = str(problem)
        else:
            one.problem = document.get("problem", "")
            if not one.problem:
                one.documents.append(document)
                self._devices = document.get("devices", self._devices)
        if point.method == "cuda":
            self._no_device = one.problem
        print(f"{point.name}: {one.problem or 'measured'}", flush=True)

    def limit(self, sizes: list[int], repetitions: int) -> None:
        for size in sizes:
            if self.out_of_time(f"limit of {size >> 20} MiB"):
                continue
            try:
                rates = self._launcher.limit(str(self._folder / "limit"), size, True, repetitions)
            except RunFailed as problem:
                print(f"limit of {size >> 20} MiB: {problem}", flush=True)
                continue
            self.limits[size] = max(rates.values())
            print(f"limit of {size >> 20} MiB: {self.limits[size]:.0f} MiB/s", flush=True)
