# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Agents, links, ranks and disks that fail under a file that several nodes have open: no hang, no silent loss."""

import contextlib
import os
import random
import signal
import subprocess
import time

import pytest
from conftest import eventually
from jobs import LAUNCHERS, LONG, TIMEOUT_S, nodes_up, shared_folder, spent
from victim import pattern

NODES, PER_NODE = 3, 2
PIECE, PIECES = 1024, 4000
BOUND_S = 45  # for a job to end, with MILLRACE_TIMEOUT of TIMEOUT_S; also where tests share the processors
FIRST = int(os.environ.get("TEST_FIRST_SEED", "1"))
POINTS = range(FIRST, FIRST + int(os.environ.get("TEST_POINTS", "50" if LONG else "2")))


@pytest.fixture(scope="session")
def nodes():
    with shared_folder() as folder, nodes_up("lost", NODES, folder) as up:
        yield up


class Victim:
    """A job that has stopped at a random piece, with its agents, and goes on when told."""

    def __init__(self, nodes, seed, kind):
        self.dice = random.Random(f"{kind}-{seed}")
        self.job = nodes.job(self.dice.choice([mpi for mpi in LAUNCHERS if LAUNCHERS[mpi]]), per_node=PER_NODE)
        self.path, self.go_file = self.job.folder / "data", self.job.folder / "go"
        self.settings = {
            "topology": self.dice.choice(["ring", "tree", "direct"]),
            "strategy": self.dice.choice(["auto", "immediate", "sort", "journal"]),
            "file_servers": self.dice.choice([1, 1, 3]),
            "sort_buffer": "4MiB",
            # Nobody is lost where the disk is full, however slow a busy machine makes them seem.
            "timeout": "30s" if kind == "disk" else f"{TIMEOUT_S}s",
        }
        self.stop = self.dice.randrange(PIECES)
        print(f"seed {seed}: {self.job.mpi} stops at {self.stop}, {self.settings}")

    def begin(self, path=None):
        words = [path or self.path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={self.stop}", "sync=1"]
        self.job.start("victim", *words, f"go={self.go_file}", **self.settings)

    def at_stop(self):
        assert eventually(lambda: self.job.out.count("at ") == NODES * PER_NODE, 60), self.job.told

    def go(self):
        """The fault comes a little before, or somewhere after."""
        self.go_file.touch()
        time.sleep(self.dice.choice([0, 0, 0.01, 0.05, 0.2]))

    def end(self, began):
        self.job.wait(BOUND_S)
        assert spent(began) < BOUND_S
        complete = self.path.exists() and self.path.read_bytes() == pattern(0, NODES * PER_NODE * PIECE * PIECES)
        return complete

    def expect_told(self, complete):
        assert complete or self.job.errors() or self.job.process.returncode != 0, f"silence\n{self.job.told}"


def strike(nodes, seed, kind, fault):
    victim = Victim(nodes, seed, kind)
    victim.begin()
    victim.at_stop()
    if victim.dice.choice([True, False]):
        victim.go()
    began = time.monotonic()
    undo = fault(victim)
    victim.go()
    if undo is not None:
        undo()
    victim.expect_told(victim.end(began))  # the end waits for the agents of all jobs
    return victim


def kill_agent(victim, node):
    for pid, at in victim.job.named("millraced").items():
        if at == node:
            with contextlib.suppress(ProcessLookupError):  # the program may have ended
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("seed", POINTS)
def test_an_agent_that_passes_records_on_is_killed(nodes, seed):
    strike(nodes, seed, "agent", lambda victim: kill_agent(victim, victim.dice.randrange(1, NODES)))


@pytest.mark.parametrize("seed", POINTS)
def test_the_agent_of_the_file_server_is_killed(nodes, seed):
    strike(nodes, seed, "server", lambda victim: kill_agent(victim, 0))


@pytest.mark.parametrize("seed", POINTS)
def test_a_rank_is_killed(nodes, seed):
    def kill(victim):
        ranks = sorted(victim.job.named(f"victim_{victim.job.mpi}"))
        with contextlib.suppress(IndexError, ProcessLookupError):  # the program may have ended
            os.kill(victim.dice.choice(ranks), signal.SIGKILL)

    strike(nodes, seed, "rank", kill)


@pytest.mark.parametrize("seed", POINTS if LONG else POINTS[:1])
def test_the_link_of_a_node_is_cut_for_longer_than_the_bound(nodes, seed):
    # The MPI library's own waits have no bound (see jobs.py): the job ends after healing.
    def cut(victim):
        node = victim.dice.randrange(1, NODES)
        nodes.cluster.change("cut", node)

        def heal():
            # TCP tries again after at most as long again: BOUND_S has room for twice that.
            time.sleep(2 * TIMEOUT_S)
            nodes.cluster.change("heal", node)

        return heal

    strike(nodes, seed, "link", cut)


@pytest.fixture(scope="session")
def small_disk():
    """Mounted before the nodes are made: they see it."""
    with shared_folder() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "small", folder], check=False).returncode != 0:
            pytest.skip("a mount is not allowed here")
        try:
            with shared_folder() as beside, nodes_up("full", NODES, beside) as up:
                yield up, folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("seed", POINTS)
def test_a_full_disk_is_told_to_every_rank(small_disk, seed):
    nodes, place = small_disk
    victim = Victim(nodes, seed, "disk")
    path = place / f"data-{seed}"
    began = time.monotonic()
    victim.go()  # the disk may be full before the stop
    victim.begin(path)
    victim.end(began)
    errors = victim.job.errors()
    assert set(errors) == set(range(NODES * PER_NODE)), f"{errors}\n{victim.job.told}"
    assert any("MPI_ERR_NO_SPACE" in one for seen in errors.values() for one in seen), errors
    victim.job.expect_nothing_left()
    path.unlink()
