# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Anybody on the network may connect with the agents of a job; users of the same node: tests/fault/test_flood.py."""

import contextlib
import os
import subprocess
import sys
import time

import pytest
from conftest import ROOT, eventually
from jobs import nodes_up, port_of, shared_folder
from victim import pattern

PIECE, PIECES = 1024, 20000  # pieces of the ranks alternate, so that nodes need each other
RANKS = 6
BEFORE = 200  # so many are written before the flood


@pytest.fixture(scope="module")
def nodes():
    with shared_folder() as folder, nodes_up("flood", 3, folder) as up:
        yield up


def descriptors(agent):
    return len(os.listdir(f"/proc/{agent}/fd"))


@contextlib.contextmanager
def flood(nodes, agents):
    """Every agent is flooded from the next node. Yields how often each flood connected, when it is over."""
    running, counts = [], []
    try:
        for agent, node in agents.items():
            words = (sys.executable, ROOT / "tests/flood.py", "tcp", f"node{node}", port_of(agent))
            running.append(nodes.cluster.start((node + 1) % nodes.count, *words, stdin=subprocess.PIPE))
        for one in running:
            assert one.stdout.readline() == "begun\n"
        yield counts
        counts += [int(one.communicate(timeout=60)[0].split()[-1]) for one in running]
    finally:
        for one in running:
            one.stdin.close()
            one.wait(60)


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_a_flood_of_other_hosts_changes_nothing_and_holds_no_agent(nodes, mpi):
    job = nodes.job(mpi)
    path, go = job.folder / "data", job.folder / "go"
    words = [f"piece={PIECE}", f"pieces={PIECES}", f"stop={BEFORE}", f"go={go}"]
    job.start("victim", path, *words, strategy="immediate")

    def all_there():
        ports = [port_of(agent) for agent in job.named("millraced")]
        return job.out.count("at ") == RANKS and len(ports) == nodes.count and None not in ports

    assert eventually(all_there, 60), job.told
    agents = job.named("millraced")
    before = {agent: descriptors(agent) for agent in agents}
    with flood(nodes, agents) as counts:
        time.sleep(2)  # so long it has the agents to itself
        assert max(descriptors(agent) - before[agent] for agent in agents) < 250
        go.touch()
        assert job.wait(120) == 0, job.told
        job.expect_nothing_left()
    assert min(counts) > 500, counts
    assert job.errors() == {} and "MPI library alone" not in job.told, job.told
    assert path.read_bytes() == pattern(0, RANKS * PIECES * PIECE)
