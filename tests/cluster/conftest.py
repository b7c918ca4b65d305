# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters for tests, and the watch over what they leave."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from millrace.tools.cluster import client, mounts, state

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("TEST_BUILD", ROOT / "build"))
RUN, STORAGE = Path("/run/millrace-cluster"), Path("/var/lib/millrace-cluster")
BOUND_S = 240
TRIES = 10  # of what a busy machine can only make slower, until it is fast enough once


# Of a fresh node: nothing, or the way to this tree, where that is below (see call()).
IN_TMP = [ROOT.parts[2]] if ROOT.is_relative_to("/tmp") else []


def eventually(condition: Callable[[], object], bound_s: float = 10) -> bool:
    deadline = time.monotonic() + bound_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def words(*command: object) -> list[str]:
    return [sys.executable, "-m", "millrace", "cluster", *map(str, command)]


def call(*command: object, timeout: float = BOUND_S, **more: object) -> subprocess.CompletedProcess:
    """`millrace cluster ...`, bounded."""
    if command[0] == "up":
        command = (*command, *(word for path in mounts.hidden([ROOT]) for word in ("--shared", path)))
    return bounded(words(*command), timeout, **more)


def bounded(command: list[str], timeout: float = BOUND_S, **more: object) -> subprocess.CompletedProcess:
    settings = {"capture_output": True, "text": True, "check": False, "stdin": subprocess.DEVNULL} | more
    if "input" in settings:
        del settings["stdin"]
    return subprocess.run(command, timeout=timeout, **settings)


def keepers(name: str) -> set[int]:
    """Keepers and nodes' first processes, which share a command line, of clusters whose names begin so."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"{RUN}/{name}".encode() in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
            except OSError:
                pass
    return found


def clusters(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir()} if folder.is_dir() else set()


def others(name: str) -> set[str]:
    """Clusters that are none of this test's: somebody may use one while the tests run."""
    return {other for other in clusters(RUN) | clusters(STORAGE) if not other.startswith(name)}


def traces(name: str) -> dict[str, object]:
    """Everything of a machine that a test's clusters might leave something in."""
    output = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    return {
        "links": {line.split(":")[1].strip() for line in output.splitlines()},
        "named namespaces": set(os.listdir("/run/netns")) if Path("/run/netns").is_dir() else set(),
        "mounts": {line.split(" ", 6)[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()},
        "processes": keepers(name),
        "state": {other for other in clusters(RUN) if other.startswith(name)},
        "storage": {other for other in clusters(STORAGE) if other.startswith(name)},
        "/local": Path("/local").exists() and not others(name),
    }


def more(before: dict[str, object], now: dict[str, object]) -> dict[str, object]:
    """What is there now and was not before. Traces of other tests' clusters may have gone meanwhile."""
    added = {
        key: found - before[key] if isinstance(found, set) else found and not before[key] for key, found in now.items()
    }
    return {key: found for key, found in added.items() if found}


class Cluster:
    """A cluster of a name that no other test uses."""

    def __init__(self, number: int) -> None:
        self.name = f"test-{os.getpid()}-{number}"

    def up(self, *options: object) -> dict:
        done = self("up", "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def __call__(self, what: str, *rest: object, **more: object) -> subprocess.CompletedProcess:
        return call(what, "--name", self.name, *rest, **more)

    def change(self, what: str, node: int) -> None:
        """As `millrace cluster cut` and `heal`, at once: on a busy machine a command takes seconds to start."""
        client.control(RUN / self.name, {"do": what, "node": node})

    def inside(self, node: object, *command: object) -> list[str]:
        """The words that run a command there."""
        return [sys.executable, "-S", str(HERE / "enter.py"), self.name, str(node), *map(str, command)]

    def run(self, node: object, *command: object, **more: object) -> subprocess.CompletedProcess:
        return bounded(self.inside(node, *command), **more)

    def python(self, node: object, program: str, **more: object) -> str:
        done = self.run(node, "/usr/bin/python3", "-c", program, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, node: object, *command: object, **more: object) -> subprocess.Popen:
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "stdin": subprocess.DEVNULL}
        return subprocess.Popen(self.inside(node, *command), **settings | more)

    def status(self) -> dict:
        """As `millrace cluster status --json`."""
        return state.running(self.name).document()

    def states(self) -> list[str]:
        return [node["state"] for node in self.status()["nodes"]]

    @property
    def keeper(self) -> int:
        return json.loads((RUN / self.name / "state.json").read_text())["keeper"]


_made = 0


@contextlib.contextmanager
def watched(kind: type[Cluster] = Cluster) -> Iterator[Cluster]:
    """A cluster that is not up yet. In the end it is taken down, and nothing may be left."""
    global _made
    _made += 1
    one = kind(_made)
    with state.locked():  # not while another test's cluster comes or goes
        before = traces(one.name)
    yield one
    done = one("down")
    assert done.returncode == 0, done.stderr
    now = {}
    assert eventually(lambda: now.update(traces(one.name)) or not more(before, now)), f"left: {more(before, now)}"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """For one test."""
    with watched() as one:
        yield one


@pytest.fixture
def pair(cluster: Cluster) -> Cluster:
    """Two nodes, unshaped."""
    cluster.up("--nodes", 2)
    return cluster


@pytest.fixture(scope="module")
def lasting_pair() -> Iterator[Cluster]:
    """Two nodes, unshaped, for a file of tests: each leaves them as it found them."""
    with watched() as one:
        one.up("--nodes", 2)
        yield one


@pytest.fixture(scope="session")
def slurm_site(tmp_path_factory) -> Iterator[tuple[Cluster, Path]]:
    """Two nodes with Slurm for all files of tests, as its start takes seconds, and a folder that both see."""
    folder = tmp_path_factory.mktemp("site")
    with watched() as one:
        one.up("--nodes", 2, "--slurm", "--shared", folder)
        yield one, folder


def kill_keeper(cluster: Cluster) -> None:
    os.kill(cluster.keeper, signal.SIGKILL)
