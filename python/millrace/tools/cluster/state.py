# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The description of a cluster, and its file: /run/millrace-cluster/NAME/state.json."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RUN = Path("/run/millrace-cluster")
STORAGE = Path("/var/lib/millrace-cluster")
LOCAL = Path("/local")  # the node's own storage
ALIVE = "alive"  # the keeper has a lock on this file
DEFAULT_NAME = "default"
SCHEMA = "millrace-cluster-1"
NODES_MAX = 64
UP, CUT, DEAD = "up", "cut", "dead"


class ClusterError(Exception):
    """The command cannot be carried out; the error has the exit status."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Spec:
    """The options of `up`. Rates are per second; 0 means no limit."""

    name: str
    nodes: int
    bandwidth_bits: int = 0
    latency_us: int = 0
    slots: int = 4
    shared: list[str] = field(default_factory=list)
    preload: list[str] = field(default_factory=list)  # for every command, because of stock MPICH (launchers.py)
    disk_rate_bytes: int = 0
    read_rate_bytes: int = 0  # of a slow disk; 0: reads are not slowed down
    seek_time_us: int = 0
    slow: list[str] = field(default_factory=list)
    slow_program: str = ""
    slurm: bool = False

    @property
    def folder(self) -> Path:
        """Sockets, state and the files that launchers read."""
        return RUN / self.name

    @property
    def storage(self) -> Path:
        """The nodes' own storage, on the real disk."""
        return STORAGE / self.name

    def own(self, index: int) -> Path:
        return self.storage / host_name(index)


@dataclass
class Node:
    """One node as it is now; `pid` is its first process, 0 when it is dead."""

    index: int
    name: str
    address: str
    state: str = DEAD
    pid: int = 0
    started: int = 0


@dataclass
class State:
    """The existing parts of a cluster. Only its keeper writes it."""

    spec: Spec
    nodes: list[Node]
    keeper: int = 0
    started: int = 0

    @property
    def running(self) -> bool:
        """True if the keeper holds its lock. Inside a node, the keeper's process number would have no meaning."""
        try:
            fd = os.open(self.spec.folder / ALIVE, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(fd)
        return False

    def document(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self)}

    def hold(self) -> None:
        """Takes the keeper's lock for as long as it runs; forked processes do not share it."""
        fcntl.lockf(os.open(self.spec.folder / ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), fcntl.LOCK_EX)

    def write(self) -> None:
        write_file(self.spec.folder / "state.json", json.dumps(self.document(), indent=1))


def host_name(index: int) -> str:
    return f"node{index}"


def address(index: int) -> str:
    return f"10.99.0.{index + 1}"


def new_state(spec: Spec) -> State:
    return State(spec, [Node(i, host_name(i), address(i)) for i in range(spec.nodes)])


def write_file(path: Path, text: str, mode: int = 0o600) -> None:
    """Writes a file as a whole or not at all, because readers may come at any time."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
    temporary.rename(path)


def check_name(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,31}", name):
        raise ClusterError(f"'{name}' cannot be the name of a cluster: use a letter, then up to 31 of a-z, 0-9 and -")
    return name


def read(name: str) -> State | None:
    """The state of a cluster; None if there is no cluster of that name."""
    path = RUN / check_name(name) / "state.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        nodes = [Node(**node) for node in document["nodes"]]
        return State(Spec(**document["spec"]), nodes, document["keeper"], document["started"])
    except FileNotFoundError:
        return None
    except PermissionError:
        raise ClusterError(f"only root may read {path}: run this as root") from None
    except (ValueError, KeyError, TypeError):
        hint = "`millrace cluster down --all` removes it"
        raise ClusterError(f"{path} is not readable as a cluster's state; {hint}") from None


def names() -> list[str]:
    """The clusters that have a folder, up or not."""
    try:
        return sorted(entry.name for entry in RUN.iterdir() if not entry.name.startswith(".") and entry.is_dir())
    except FileNotFoundError:
        return []
    except PermissionError:
        raise ClusterError(f"only root may read {RUN}: run this as root") from None


def running(name: str) -> State:
    """The state of a running cluster. Raises an error with advice if there is none."""
    found = read(name)
    if found is None:
        others = ", ".join(names())
        hint = f"there is {others}: use --name" if others else "start one by: millrace cluster up --nodes 4"
        raise ClusterError(f"no cluster '{name}' is up; {hint}")
    if not found.running:
        raise ClusterError(f"cluster '{name}' has crashed; remove its rest with: millrace cluster down --name {name}")
    return found


def find_node(cluster: State, text: str) -> Node:
    """A node by its number or host name."""
    for node in cluster.nodes:
        if text in (str(node.index), node.name):
            return node
    last = cluster.nodes[-1]
    name = cluster.spec.name
    raise ClusterError(f"'{text}' is not a node of cluster '{name}': give 0 to {last.index} or node0 to {last.name}")


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """One `up` or `down` at a time on this machine."""
    RUN.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(RUN / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
