# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the real memory of the agent and of the ranks.

usage: python3 tests/fault/memory.py [--mpi mpich|ompi] [--ranks N] [--size MIB] [--buffers 16,64,256]

bench/ior writes a file that is larger than the sort buffer, in three patterns: sequential (each rank one long
piece), strided (the ranks' small pieces alternate) and random (so, in random order). Prints one row each:

  agent   VmHWM of millraced: the peak of everything resident, that is its own memory, the pages of its program
          and libraries, and the ranks' rings, which are shared memory: 1 MiB for each rank
  rings   RssShmem of millraced, the largest seen: how much of that is the ranks' rings
  rank    VmRSS of the largest rank, the largest seen from the open of the file on (an MPI library's start
          takes more for a moment, which would hide the difference); stock: the same in a run without the preload

The agent is held to sort buffer + 64 MiB, what a rank has more than stock to 16 MiB; exit status 1 where one is
above.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from conftest import BUILD, LAUNCHERS, Job

MIB = 1 << 20
AGENT_EXTRA_MIB = 64
RANK_MIB = 16
BOUND_S = 300.0
# Small enough for the pipeline whatever the pattern.
PATTERNS = {
    "sequential": ["-t", "4k", "-b", "{share}"],
    "strided": ["-t", "1k", "-b", "1k", "-s", "{segments}"],
    "random": ["-t", "1k", "-b", "{share}", "-z"],
}


def field(pid: int, name: str) -> int:
    """A size of /proc/PID/status, in bytes; 0 if the process has gone."""
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    except OSError:
        return 0
    return int(found.group(1)) * 1024 if found else 0


@dataclass
class Sample:
    """One run: bytes."""

    agent: int = 0
    rings: int = 0
    rank: int = 0
    file: int = 0


class _Watcher(threading.Thread):
    """Reads peaks while the job runs. A peak only grows, and the agent stays a second after the last rank."""

    def __init__(self, job: Job, program: str, file: Path) -> None:
        super().__init__(daemon=True)
        self._job, self._program, self._file, self._ended = job, program, file, threading.Event()
        self.sample = Sample()

    def run(self) -> None:
        while not self._ended.wait(0.02):
            self.look()

    def look(self) -> None:
        for pid in self._job.agents():
            self.sample.agent = max(self.sample.agent, field(pid, "VmHWM"))
            self.sample.rings = max(self.sample.rings, field(pid, "RssShmem"))
        for pid, command in self._job.members().items() if self._file.exists() else ():
            if command == self._program[:15]:
                self.sample.rank = max(self.sample.rank, field(pid, "VmRSS"))

    def finish(self) -> Sample:
        self._ended.set()
        self.join()
        return self.sample


def measure(folder: Path, mpi: str, ranks: int, name: str, size: int, preload: bool, **settings: object) -> Sample:
    """Runs one pattern; `size` is that of the file."""
    folder.mkdir()
    job = Job(folder, mpi)
    job.linger_ms = 1000
    share = size // ranks
    words = [word.format(share=share, segments=share // 1024) for word in PATTERNS[name]]
    program, path = BUILD / "bin/bench" / f"ior-{mpi}", folder / "data"
    try:
        # Twice, with a second in between in which the file is there: the watcher may sleep through a short run.
        command = [program, "-a", "MPIIO", "-w", "-k", "--no-warm", "-i", 2, "-d", 1, "-o", path, *words]
        job.start(*command, ranks=ranks, preload=preload, **settings)
        watcher = _Watcher(job, program.name, path)
        watcher.start()
        try:
            status = job.wait(BOUND_S)
            watcher.look()
        finally:
            sample = watcher.finish()
        if status != 0:
            raise RuntimeError(f"ior ended with {status}: {job.err}")
        sample.file = path.stat().st_size
        if not sample.rank or (preload and not sample.agent):
            raise RuntimeError("no rank or no agent was seen: nothing was measured")
        return sample
    finally:
        job.end()
        path.unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=("mpich", "ompi"), default="mpich")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--size", type=int, default=512, help="of the file, MiB")
    parser.add_argument("--buffers", default="16,64,256", help="MiB")
    options = parser.parse_args()
    if not LAUNCHERS[options.mpi]:
        print(f"no {options.mpi} here")
        return 77
    above = 0
    print("pattern     buffer MiB  agent MiB  of it rings  bound  rank MiB  stock  adds  bound")
    with tempfile.TemporaryDirectory(prefix="millrace-memory-") as temporary:
        for name in PATTERNS:
            run = [Path(temporary) / f"{name}-stock", options.mpi, options.ranks, name, options.size * MIB]
            stock = measure(*run, False)
            for buffer in map(int, options.buffers.split(",")):
                run[0] = Path(temporary) / f"{name}-{buffer}"
                sample = measure(*run, True, sort_buffer=f"{buffer}MiB")
                agent, rank = sample.agent / MIB, (sample.rank - stock.rank) / MIB
                bound = buffer + AGENT_EXTRA_MIB
                above += (agent > bound) + (rank > RANK_MIB)
                print(
                    f"{name:<11} {buffer:>10} {agent:>10.1f} {sample.rings / MIB:>12.1f} {bound:>6} "
                    f"{sample.rank / MIB:>9.1f} {stock.rank / MIB:>6.1f} {rank:>5.1f} {RANK_MIB:>6}",
                    flush=True,
                )
    print("all within their bounds" if not above else f"{above} above their bounds")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
