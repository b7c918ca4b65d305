# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Well-known tools that measure the same as bench/ipc, where they are here."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import shutil
import subprocess

from bars.launch import Launcher, RunFailed

REPEATED = 3  # of which the best counts, on both sides: what a tool could reach is not what disturbed it


@dataclasses.dataclass(frozen=True)
class Peer:
    tool: str
    method: str
    what: str  # with its unit
    theirs: float
    ours: float
    ratio: float  # above 1: ours is faster


def _number(command: list[str], pattern: str) -> list[float]:
    numbers = []
    for _ in range(REPEATED):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return []
        match = re.search(pattern, done.stdout + done.stderr)
        if match is None:
            return []
        numbers.append(float(match.group(1).replace(",", "")))
    return numbers


class _Ours:
    def __init__(self, launcher: Launcher, mpi: str) -> None:
        self._launcher, self._mpi = launcher, mpi

    def row(self, method: str, size: int, total: int) -> dict | None:
        words = ["--methods", method, "--sizes", str(size), "--bytes", str(total), "-i", str(REPEATED)]
        try:
            document = self._launcher.run("ipc", self._mpi, 2, words, False)
        except RunFailed:
            return None
        return document["methods"][method].get("sizes", [None])[0]


def compare(launcher: Launcher, mpi: str, lmbench: str, ipc_bench: str) -> list[Peer]:
    ours, found = _Ours(launcher, mpi), []

    def bandwidth(tool: str, command: list[str], pattern: str, method: str, size: int, total: int, unit: float) -> None:
        theirs, row = _number(command, pattern), None
        if theirs:
            row = ours.row(method, size, total)
        if row:
            best = max(row["write_mib_s"]["max"], row["read_mib_s"]["max"])
            rate = max(theirs) * unit
            found.append(Peer(tool, method, f"MiB/s, {size} bytes", rate, best, best / rate))

    def round_trip(tool: str, command: list[str], pattern: str, method: str, size: int, unit: float = 1) -> None:
        theirs, row = _number(command, pattern), None
        if theirs:
            row = ours.row(method, size, 5000 * size)
        if row:
            best, time = 2 * row["latency_us"]["min"], min(theirs) * unit
            found.append(Peer(tool, method, f"us of a round trip, {size} bytes", time, best, time / best))

    if shutil.which("perf"):
        round_trip("perf bench sched pipe", ["perf", "bench", "sched", "pipe", "-l", "100000"],
                   r"([\d.]+) usecs/op", "pipe", 4)  # fmt: skip
    if (pathlib.Path(lmbench) / "bw_pipe").exists() and lmbench:
        bandwidth(
            "lmbench bw_pipe", [f"{lmbench}/bw_pipe"], r"([\d.]+) MB/sec", "pipe", 64 << 10, 64 << 20, 1e6 / 2**20
        )
        round_trip("lmbench lat_pipe", [f"{lmbench}/lat_pipe"], r"([\d.]+) microseconds", "pipe", 1)
    if (pathlib.Path(ipc_bench) / "shm/shm").exists() and ipc_bench:
        for size, count in ((64, 100000), (4096, 100000), (65536, 20000)):
            # Its message is a round trip: one writes, the other reads and writes.
            command = [f"{ipc_bench}/shm/shm", "-c", str(count), "-s", str(size)]
            round_trip("ipc-bench shm", command, r"Average duration:\s+([\d.]+)\s+us", "posix-memory", size)
    return found
