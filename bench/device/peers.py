# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Well-known tools that measure the same as bench/ipc, where they are here."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil

from bars.launch import Launcher
from millrace.tools.session import RunFailed, bounded

TURNS = 5  # the tool, ipc, the tool, ...; the best of each counts: what it could reach, not what disturbed it


@dataclasses.dataclass(frozen=True)
class Peer:
    tool: str
    method: str
    what: str  # with its unit
    theirs: float
    ours: float
    ratio: float  # above 1: ours is faster


def _output(command: list[str]) -> str:
    """Of both streams, in a session of its own, which some of the tools rely on; empty if it does not end."""
    try:
        _, out, err = bounded(command, 60)
    except RunFailed:
        return ""
    return out + err


class _Comparison:
    def __init__(self, launcher: Launcher, mpi: str) -> None:
        self._launcher, self._mpi = launcher, mpi
        self.found: list[Peer] = []

    def _ours(self, method: str, size: int, total: int) -> dict | None:
        words = ["--methods", method, "--sizes", str(size), "--bytes", str(total), "-i", "2"]
        try:
            document = self._launcher.run("ipc", self._mpi, 2, words, False)
        except RunFailed:
            return None
        return document["methods"][method].get("sizes", [None])[0]

    def _turns(self, command: list[str], pattern: str, method: str, size: int, total: int) -> list[tuple[float, dict]]:
        found = []
        for _ in range(TURNS):
            match = re.search(pattern, _output(command))
            row = self._ours(method, size, total) if match else None
            if match is None or row is None:
                return []
            found.append((float(match.group(1)), row))
        return found

    def bandwidth(self, tool: str, command: list[str], pattern: str, method: str, size: int, unit: float) -> None:
        turns = self._turns(command, pattern, method, size, 64 << 20)
        if turns:
            theirs = max(number for number, _ in turns) * unit
            ours = max(row[way]["max"] for _, row in turns for way in ("write_mib_s", "read_mib_s"))
            self.found.append(Peer(tool, method, f"MiB/s, {size} bytes", theirs, ours, ours / theirs))

    @contextlib.contextmanager
    def on_one_processor(self):
        """A round trip by the kernel costs ten times more, or less, where the scheduler puts the two elsewhere."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

    def round_trip(self, tool: str, command: list[str], pattern: str, method: str, size: int) -> None:
        turns = self._turns(command, pattern, method, size, 5000 * size)
        if turns:
            theirs = min(number for number, _ in turns)
            ours = 2 * min(row["latency_us"]["min"] for _, row in turns)
            self.found.append(Peer(tool, method, f"us of a round trip, {size} bytes", theirs, ours, theirs / ours))


def compare(launcher: Launcher, mpi: str, lmbench: str, ipc_bench: str) -> list[Peer]:
    """Folders are empty where the tools are not there."""
    c = _Comparison(launcher, mpi)
    if shutil.which("perf"):
        command = ["perf", "bench", "sched", "pipe", "-l", "50000"]
        with c.on_one_processor():
            c.round_trip("perf bench sched pipe", command, r"([\d.]+) usecs/op", "pipe", 4)
    if lmbench and (pathlib.Path(lmbench) / "bw_pipe").exists():
        unit = 1e6 / (1 << 20)
        c.bandwidth("lmbench bw_pipe", [f"{lmbench}/bw_pipe"], r"([\d.]+) MB/sec", "pipe", 64 << 10, unit)
        with c.on_one_processor():
            c.round_trip("lmbench lat_pipe", [f"{lmbench}/lat_pipe"], r"([\d.]+) microseconds", "pipe", 1)
    if ipc_bench and (pathlib.Path(ipc_bench) / "shm/shm").exists():
        for size in (64, 4096, 65536):
            # Its message is a round trip: one writes, the other one reads and writes, the first one reads.
            command = [f"{ipc_bench}/shm/shm", "-c", "20000", "-s", str(size)]
            c.round_trip("ipc-bench shm", command, r"Average duration:\s+([\d.]+)\s+us", "posix-memory", size)
    return c.found
