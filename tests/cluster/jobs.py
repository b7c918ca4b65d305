# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""MPI jobs on a virtual cluster that stays up for a file of tests."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, Cluster, eventually

sys.path.insert(0, str(ROOT / "tests"))
from launch import launch, start  # noqa: E402
from victim import ERROR  # noqa: E402

LAUNCHERS = {
    "mpich": os.environ.get("TEST_MPIEXEC_MPICH") or shutil.which("mpiexec.hydra"),
    "ompi": os.environ.get("TEST_MPIEXEC_OMPI") or shutil.which("mpirun.openmpi"),
}
LONG = bool(os.environ.get("TEST_LONG"))
TIMEOUT_S = 5  # MILLRACE_TIMEOUT where something is to break
LINGER_MS = 500
AWAITED_S = 90  # for agents to leave: one may wait a minute for another that has died before it came
# By default, Open MPI keeps the shared file pointer of a file in another file beside it, also of a file whose shared
# pointer no rank uses. Two opens of one name in one process take the same such file, and ranks that do not see the
# same folder wait for each other for ever.
NO_POINTER_FILE = {"OMPI_MCA_sharedfp": "individual"}
_LISTENS = "0A"


def port_of(agent: int) -> int | None:
    """At which other nodes reach it, or None yet."""
    with contextlib.suppress(OSError):
        sockets = {os.readlink(one) for one in Path(f"/proc/{agent}/fd").iterdir()}
        tables = [Path(f"/proc/{agent}/net/{name}").read_text() for name in ("tcp", "tcp6")]
        for line in [line.split() for table in tables for line in table.splitlines()]:
            if line[3] == _LISTENS and f"socket:[{line[9]}]" in sockets:
                return int(line[1].split(":")[1], 16)
    return None


class Job:
    """One MPI program across the nodes, under Millrace; its processes are known by its key."""

    def __init__(self, nodes: Nodes, mpi: str, per_node: int = 2) -> None:
        if not LAUNCHERS[mpi] or not (BUILD / f"lib/libmillrace-{mpi}.so").exists():
            pytest.skip(f"no {mpi} here")
        self.nodes, self.mpi, self.per_node = nodes, mpi, per_node
        self.key = "across-" + secrets.token_hex(8)
        self.folder = Path(tempfile.mkdtemp(dir=nodes.folder))
        self.folder.chmod(0o755)
        self.process: subprocess.Popen | None = None

    def program(self, name: str) -> Path:
        return BUILD / "bin" / (f"bench/ior-{self.mpi}" if name == "ior" else f"tests/{name}_{self.mpi}")

    def start(self, name: str, *arguments: object, node: int = 0, **settings: object) -> Job:
        """`settings` are MILLRACE_<NAME>; `enabled` is MILLRACE, and `temporary` is TMPDIR of the ranks."""
        launcher = launch(LAUNCHERS[self.mpi], self.mpi, self.nodes.count * self.per_node)
        place = ["-ppn", self.per_node] if self.mpi == "mpich" else ["--map-by", f"ppr:{self.per_node}:node"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE")}
        environment |= {
            "MILLRACE_JOB": self.key,
            "MILLRACED_LINGER_MS": str(LINGER_MS),
            "XDG_CACHE_HOME": "/dev/null",
            "MILLRACE_DIRECT_ABOVE": "16KiB",  # these programs are over before an agent pays
        }
        # UCX, which MPICH uses, closes a connection on which the peer leaves three probes unanswered: one after 10 s of
        # silence, two more after 2 s each. The other side does not learn that, and the job waits for ever.
        environment["UCX_TCP_KEEPIDLE"] = "inf"
        environment |= {"MILLRACE_STATS": str(self.folder / "stats"), "MILLRACED_LOG": str(self.folder / "agents")}
        given = ["env", f"TMPDIR={settings.pop('temporary')}"] if "temporary" in settings else []
        names = {key: "MILLRACE" if key == "enabled" else f"MILLRACE_{key.upper()}" for key in settings}
        environment |= {names[key]: str(value) for key, value in settings.items()}
        run = [sys.executable, "-S", "-m", "millrace", "run", "--", *launcher, *place, *given]
        command = self.nodes.cluster.inside(node, *run, self.program(name), *arguments)
        self.process = start(command, environment, self.folder, "/")
        return self

    def run(self, name: str, *arguments: object, bound_s: float = 90, **settings: object) -> Job:
        """To a good end."""
        self.start(name, *arguments, **settings)
        code = self.wait(bound_s)
        assert code == 0, f"exit {code}\n{self.told}"
        return self

    def wait(self, bound_s: float) -> int:
        assert eventually(lambda: self.process.poll() is not None, bound_s), f"no end after {bound_s} s\n{self.told}"
        return self.process.returncode

    def read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def out(self) -> str:
        return self.read("out")

    @property
    def told(self) -> str:
        return "\n".join(f"--- {name}:\n{self.read(name)[-3000:]}" for name in ("out", "err", "agents"))

    def processes(self) -> dict[int, str]:
        """Living processes of the job on the nodes, agents among them, and their commands."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, IndexError):
                if f"MILLRACE_JOB={self.key}".encode() not in (entry / "environ").read_bytes().split(b"\0"):
                    continue
                name, fields = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
                if fields.split()[0] != "Z":
                    found[int(entry.name)] = name
        return found

    def named(self, name: str) -> dict[int, int]:
        """Processes of the job that are so called, and their nodes."""
        return {pid: self.nodes.node_of(pid) for pid, command in self.processes().items() if command == name[:15]}

    def errors(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for rank, call, name in ERROR.findall(self.out):
            found.setdefault(int(rank), []).append(f"{call} {name}")
        return found

    def expect_nothing_left(self, bound_s: float = AWAITED_S) -> None:
        assert eventually(lambda: not self.processes(), bound_s), f"left: {self.processes()}\n{self.told}"

    def end(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if self.process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Nodes:
    """The cluster, and a folder that all its nodes see."""

    def __init__(self, cluster: Cluster, count: int, folder: Path) -> None:
        self.cluster, self.count, self.folder = cluster, count, folder
        self.jobs: list[Job] = []

    def job(self, mpi: str, **more: object) -> Job:
        self.jobs.append(Job(self, mpi, **more))
        return self.jobs[-1]

    def node_of(self, pid: int) -> int:
        with contextlib.suppress(OSError):
            net = os.readlink(f"/proc/{pid}/ns/net")
            for number, node in enumerate(self.cluster.status()["nodes"]):
                if os.readlink(f"/proc/{node['pid']}/ns/net") == net:
                    return number
        return -1


@contextlib.contextmanager
def nodes_up(name: str, count: int, folder: Path, bandwidth: str = "1gbit", *options: object) -> Iterator[Nodes]:
    cluster = Cluster(0)
    cluster.name = f"{name}-{os.getpid()}"
    cluster.up("--nodes", count, "--bandwidth", bandwidth, *options)
    nodes = Nodes(cluster, count, folder)
    try:
        yield nodes
        # An agent stays a while after its last rank. So this looks once at all jobs, not after each job.
        for job in nodes.jobs:
            job.expect_nothing_left()
    finally:
        for job in nodes.jobs:
            job.end()
        done = cluster("down")
        assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """Nodes have a /tmp of their own, but see the build folder."""
    with tempfile.TemporaryDirectory(prefix="across-", dir=BUILD) as folder:
        yield Path(folder)


def spent(since: float) -> float:
    return time.monotonic() - since
