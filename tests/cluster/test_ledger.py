# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Durability node across nodes: each node keeps its own ranks' records until the file server's disk has them."""

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from unittest import mock

import pytest
from conftest import BUILD, eventually
from jobs import LAUNCHERS, LONG, TIMEOUT_S, nodes_up, shared_folder
from victim import pattern

NODES, PER_NODE = 3, 2
PIECE, PIECES, STOP = 1024, 2000, 500
WHOLE = NODES * PER_NODE * PIECE * PIECES
BOUND_S = 60
FIRST = int(os.environ.get("TEST_FIRST_SEED", "1"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("TEST_POINTS", "50" if LONG else "2")))


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def disk_of_all():
    """A disk that can be frozen, mounted before the nodes are made: they see it."""
    with shared_folder() as beside, shared_folder() as place:
        image = beside / "image"
        with image.open("wb") as file:
            file.truncate(64 << 20)
        made = run("mkfs.ext4", "-q", "-F", "-m", "0", image)
        if made.returncode != 0 or run("mount", "-o", "loop", image, place).returncode != 0:
            pytest.skip("a loop device or a mount is not allowed here")
        try:
            with nodes_up("ledger", NODES, beside) as up:
                yield up, place
        finally:
            run("fsfreeze", "--unfreeze", place)
            run("umount", "-l", place)


@pytest.fixture
def held(disk_of_all):
    """Whatever happens, the disk thaws: else nobody who writes to it could even be killed."""
    yield disk_of_all
    run("fsfreeze", "--unfreeze", disk_of_all[1])


def close_file(nodes, place, mpi, topology, name):
    """While the disk is frozen."""
    job = nodes.job(mpi, per_node=PER_NODE)
    path, go = place / name, job.folder / "go"
    words = [path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", f"go={go}"]
    settings = {"topology": topology, "file_servers": 1, "strategy": "sort", "timeout": f"{TIMEOUT_S}s"}
    # Open MPI keeps shared file pointers in a file beside one that several nodes have open, and its close writes there;
    # with this component it keeps none.
    with mock.patch.dict(os.environ, {"OMPI_MCA_sharedfp": "sm"}):
        job.start("victim", *words, durability="node", **settings)
    assert eventually(lambda: job.out.count("at ") == NODES * PER_NODE, BOUND_S), job.told
    assert run("fsfreeze", "--freeze", place).returncode == 0
    go.touch()
    # A rank that waited for the disk would give up later than that, and then close without an error.
    assert eventually(lambda: job.out.count("closed") == NODES * PER_NODE, TIMEOUT_S), job.told
    assert job.out.count("MPI_SUCCESS") == NODES * PER_NODE and job.errors() == {}, job.told
    return job, path


def on_each_node(nodes, *words):
    for number in range(NODES):
        done = nodes.cluster.run(number, BUILD / "bin/millrace", *words)
        assert done.returncode == 0, (number, done)


@pytest.mark.parametrize(("mpi", "topology"), [("mpich", "ring"), ("ompi", "direct")])
def test_a_close_that_returned_is_drained_in_the_background_by_all_nodes(held, mpi, topology):
    nodes, place = held
    job, path = close_file(nodes, place, mpi, topology, f"drained-{mpi}")
    assert len(job.named("millraced")) == NODES, job.told
    run("fsfreeze", "--unfreeze", place)
    on_each_node(nodes, "drain", "--timeout", "20s")
    assert path.read_bytes() == pattern(0, WHOLE)
    job.expect_nothing_left()
    path.unlink()


@pytest.mark.parametrize(("mpi", "topology", "who"), [("mpich", "direct", "server"), ("ompi", "ring", "all")])
def test_agents_that_die_while_they_drain_lose_nothing(held, mpi, topology, who):
    nodes, place = held
    job, path = close_file(nodes, place, mpi, topology, f"lost-{mpi}")
    for pid, node in job.named("millraced").items():
        if who == "all" or node == 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    run("fsfreeze", "--unfreeze", place)
    job.expect_nothing_left(BOUND_S)  # those that have lost the file server leave too
    assert path.read_bytes() != pattern(0, WHOLE), "it was done before: nothing is shown"
    on_each_node(nodes, "recover")
    assert path.read_bytes() == pattern(0, WHOLE)
    path.unlink()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_rank_closed_well_is_there_after_recovery_whichever_agent_dies_when(disk_of_all, seed):
    nodes, place = disk_of_all
    dice = random.Random(seed)
    mpi = dice.choice([name for name in LAUNCHERS if LAUNCHERS[name]])
    settings = {
        "topology": dice.choice(["ring", "tree", "direct"]),
        "strategy": dice.choice(["auto", "immediate", "sort", "journal"]),
        "file_servers": dice.choice([1, 3]),
        "sort_buffer": "4MiB",
    }
    wait_s, victims = dice.choice([0, 0.02, 0.1, 0.3, 0.6]), dice.choice([{0}, {1}, {0, 1}, {0, 1, 2}])
    print(f"seed {seed}: {mpi}, nodes {victims} after {wait_s} s, {settings}")
    job = nodes.job(mpi, per_node=PER_NODE)
    path, go = place / f"any-{seed}", job.folder / "go"
    words = [path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", f"go={go}"]
    job.start("victim", *words, durability="node", timeout=f"{TIMEOUT_S}s", **settings)
    assert eventually(lambda: job.out.count("at ") == NODES * PER_NODE, BOUND_S), job.told
    go.touch()
    time.sleep(wait_s)
    for pid, node in job.named("millraced").items():
        if node in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    job.wait(BOUND_S)
    job.expect_nothing_left()
    on_each_node(nodes, "recover")
    closed = [int(rank) for rank in re.findall(r"closed (\d+) MPI_SUCCESS", job.out)]
    there, expected = path.read_bytes(), pattern(0, WHOLE)
    for rank in closed:
        for piece in range(PIECES):
            at = (NODES * PER_NODE * piece + rank) * PIECE
            assert there[at : at + PIECE] == expected[at : at + PIECE], f"rank {rank}, piece {piece}\n{job.told}"
    assert len(closed) == NODES * PER_NODE or job.errors() or job.process.returncode != 0, f"silence\n{job.told}"
    path.unlink()
