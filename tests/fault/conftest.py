# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Starts MPI programs with the preload, bounds them, and looks at what they leave."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/fault"), str(ROOT / "tests/faultfs"), str(ROOT / "tests")]
from fault_system import system  # noqa: E402, F401  a fixture
from launch import launch, start  # noqa: E402
from victim import ERROR  # noqa: E402

BUILD = Path(os.environ.get("TEST_BUILD", ROOT / "build"))
LAUNCHERS = {
    "mpich": os.environ.get("TEST_MPIEXEC_MPICH") or shutil.which("mpiexec.hydra") or "",
    "ompi": os.environ.get("TEST_MPIEXEC_OMPI") or shutil.which("mpirun.openmpi") or "",
}
STRAY_BOUND_S = 20.0  # in which the agent has drained and left after the last rank
_TICK_S = 0.02


def eventually(condition: Callable[[], object], bound_s: float) -> bool:
    """True once the condition holds; bounded in time that this process has run, not in time that has passed."""
    for _ in range(int(bound_s / _TICK_S)):
        if condition():
            return True
        time.sleep(_TICK_S)
    return bool(condition())


def state(pid: int) -> str:
    """One letter, as /proc tells it; empty: no such process."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return ""


def gone(pid: int) -> bool:
    """The first thread is a zombie while others still hold the descriptors."""
    return not state(pid) or (state(pid) == "Z" and len(list(Path(f"/proc/{pid}/task").glob("*"))) <= 1)


def _marked(mark: str) -> dict[int, str]:
    """Living processes that have this NAME=VALUE in their environment, and their commands."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            if mark.encode() not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            command, fields = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            if fields.split()[0] != "Z":
                found[int(entry.name)] = command
    return found


class Job:
    """One run of an MPI program under the preload, with an agent and a temporary folder of its own."""

    def __init__(self, folder: Path, mpi: str) -> None:
        self.folder, self.mpi = folder, mpi
        self.key = "fault-" + secrets.token_hex(8)
        self.temporary = folder / "tmp"
        self.temporary.mkdir(mode=0o777)
        self.stats = folder / "stats"
        self.cache: Path | str = "/dev/null"  # the folder of the records of costs
        self.linger_ms = 200  # that the agent stays after its last rank
        self._sockets: set[str] = set()
        self._agents: set[int] = set()
        self._process: subprocess.Popen | None = None

    def start(
        self, *words: object, ranks: int = 2, preload: bool = True, prefix: tuple = (), **settings: object
    ) -> None:
        """`settings` are MILLRACE_<NAME>; `prefix` stands before the launcher; without `preload`, stock."""
        self.launch([*prefix, *self.launcher(ranks), *words], preload, settings)

    def victim(self, *words: object, **more: object) -> None:
        files = [f"{name}={self.folder / name}" for name in ("go", "held")]
        self.start(BUILD / "bin/tests" / f"victim_{self.mpi}", *words, *files, **more)

    def go(self, name: str = "go") -> None:
        """Lets the ranks that wait at their stop, or after a call (held), go on."""
        (self.folder / name).touch()

    def launcher(self, ranks: int) -> list[str]:
        return launch(LAUNCHERS[self.mpi], self.mpi, ranks)

    def environment(self, preload: bool, settings: dict[str, object]) -> dict[str, str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE") and k != "LD_PRELOAD"}
        libraries = [BUILD / "lib/libmillrace-bench-yield.so"] if self.mpi == "mpich" else []
        if preload:
            libraries.append(BUILD / "lib/libmillrace.so")
            environment["MILLRACE_JOB"] = self.key
            environment["MILLRACE_STATS"] = str(self.stats)
            environment["MILLRACED_LINGER_MS"] = str(self.linger_ms)
            environment["XDG_CACHE_HOME"] = str(self.cache)
            environment["MILLRACE_DIRECT_ABOVE"] = "16KiB"  # these programs are over before an agent pays
            environment["MILLRACE_JOURNAL_DIRECTORY"] = str(self.temporary)
            environment.update({f"MILLRACE_{name.upper()}": str(value) for name, value in settings.items()})
        environment["LD_PRELOAD"] = ":".join(str(path) for path in libraries if path.exists())
        environment["TEST_JOB"] = self.key
        environment["TMPDIR"] = str(self.temporary)
        return environment

    def launch(self, command: list[object], preload: bool, settings: dict[str, object]) -> None:
        self._process = start(command, self.environment(preload, settings), self.folder, self.temporary)

    @property
    def launcher_pid(self) -> int:
        return self._process.pid

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text(errors="replace")

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text(errors="replace")

    def members(self) -> dict[int, str]:
        """Living processes of the job but the agent's, and their commands. Launchers may start sessions."""
        return {pid: command for pid, command in _marked(f"TEST_JOB={self.key}").items() if command != "millraced"}

    def agents(self) -> list[int]:
        """Processes of this job's agent; remembers the names of their sockets."""
        found = [pid for pid, name in _marked(f"MILLRACE_JOB={self.key}").items() if name == "millraced"]
        self._agents.update(found)
        for pid in found:
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                self._sockets.update(word.decode() for word in words if word.startswith(b"millrace-"))
        return found

    def agent(self) -> int:
        looks: list[list[int]] = [[]]

        def settled() -> bool:
            """Agents that were started at the same moment are one after a moment."""
            looks.append(self.agents())
            return len(looks[-1]) == 1 and looks[-1] == looks[-2]

        assert eventually(settled, 20), f"agents: {looks[-1]}\n{self.err}"
        return looks[-1][0]

    def at_stop(self, ranks: int = 2) -> dict[int, int]:
        """Waits until all ranks are at their stop; their processes, by rank."""
        found: dict[int, int] = {}

        def all_there() -> bool:
            found.update({int(rank): int(pid) for rank, pid in re.findall(r"at (\d+) (\d+)\D", self.out)})
            return len(found) == ranks

        assert eventually(all_there, 60), f"{self.out}\n{self.err}"
        return found

    def wait(self, bound_s: float) -> int:
        """The launcher's status; the test fails if it does not end in time."""
        ended = eventually(lambda: self.agents() and False or self._process.poll() is not None, bound_s)
        assert ended, f"no end after {bound_s:.0f} s\n{self.out}\n{self.err}"
        return self._process.returncode

    def errors(self) -> dict[int, list[tuple[str, str]]]:
        """The errors that each rank saw: call and class."""
        found: dict[int, list[tuple[str, str]]] = {}
        for rank, call, name in ERROR.findall(self.out):
            found.setdefault(int(rank), []).append((call, name))
        return found

    def sockets(self) -> list[str]:
        """Abstract sockets of this job's agent that somebody still holds."""
        listed = Path("/proc/net/unix").read_text().split()
        return [name for name in listed for ours in self._sockets if name in (f"@{ours}", f"@{ours}-start")]

    def end(self) -> None:
        """Ends what still runs, also what the test started itself with this job's environment."""
        for pid in [*self.members(), *self.agents()]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def expect_nothing_left(self) -> None:
        assert eventually(lambda: not self.agents(), STRAY_BOUND_S), f"the agent stays: {self.agents()}"
        assert eventually(lambda: not self.members(), 10), f"strays: {self.members()}"
        # A process that ends lets go of its memory, by which it is known here, before its sockets.
        assert eventually(lambda: not self.sockets(), 10), f"sockets: {self.sockets()}"
        left = [path for path in self.temporary.rglob("*") if "millrace" in path.name.lower()]
        assert left == [], "temporary files"
        shown = [path for pid in self._agents for path in Path("/dev/shm").glob(f"millrace-*/{pid}-*")]
        assert shown == [], "presences of agents"


@pytest.fixture
def new_job(request, tmp_path) -> Iterator[Callable[[str], Job]]:
    """Makes jobs; after the test nothing of theirs may be left."""
    # Made first, so torn down last: a job that still holds the fault file system keeps it mounted.
    faults = request.getfixturevalue("system") if "system" in request.fixturenames else None
    jobs: list[Job] = []

    def make(mpi: str) -> Job:
        if not LAUNCHERS[mpi] or not (BUILD / f"lib/libmillrace-{mpi}.so").exists():
            pytest.skip(f"no {mpi} here")
        folder = tmp_path / f"job{len(jobs)}"
        folder.mkdir()
        jobs.append(Job(folder, mpi))
        return jobs[-1]

    try:
        yield make
        if faults is not None:
            faults.end_faults()
        for job in jobs:
            job.expect_nothing_left()
    finally:
        for job in jobs:
            job.end()


@pytest.fixture(params=["mpich", "ompi"])
def job(request, new_job) -> Job:
    return new_job(request.param)


@pytest.fixture
def crashed(job):
    """A job whose journals go with the test."""
    yield job
    for folder in job.temporary.glob("millrace-*"):
        shutil.rmtree(folder)
