# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What survives what with durability node and with strategy journal: docs/guide.md names these tests.

A frozen disk under the file holds its writes back, so that a close has certainly returned before they are there.
"""

import os
import random
import signal
import subprocess

import pytest
from conftest import BUILD, eventually, pattern
from disk import freeze, small_disk, thaw
from test_kill import PIECE, PIECES, SEEN_S, STOP

BOUND_S = 60.0
WHOLE = 2 * PIECE * PIECES


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path, 64) as place:
        yield place


@pytest.fixture
def held(disk, job):
    """A job and a disk that can be frozen; the disk goes last."""
    yield job, disk
    thaw(disk)


def millrace(*words):
    command = [BUILD / "bin/millrace", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=BOUND_S)


def recover(job, *options):
    return millrace("recover", "--dir", job.temporary, *options)


def ledgers(job):
    return sorted(job.temporary.glob("millrace-*/*.journal"))


def gone(pid):
    return not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"


def kill(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: all(gone(pid) for pid in pids), 20)


def close_while_frozen(job, disk, **settings):
    """The job has ended and its file is closed, but nothing after the stop can be in it."""
    path = disk / "data"
    settings = {"durability": "node", "strategy": "sort"} | settings
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", **settings)
    job.at_stop()
    agent = job.agent()
    freeze(disk)
    job.go()
    assert job.wait(BOUND_S) == 0, job.err
    assert job.errors() == {} and job.out.count("MPI_SUCCESS") == 2, job.out
    assert ledgers(job), "the close returned, but nothing is kept"
    return path, agent


def test_a_close_returns_before_the_bytes_are_in_the_file_and_the_agent_goes_on(held):
    job, disk = held
    path, agent = close_while_frozen(job, disk)
    assert not gone(agent)
    thaw(disk)
    done = millrace("drain", "--dir", job.temporary)
    assert done.returncode == 0, done.stderr
    assert ledgers(job) == [] and path.read_bytes() == pattern(0, WHOLE)


def test_after_close_the_agents_death_loses_nothing(held):
    job, disk = held
    path, agent = close_while_frozen(job, disk)
    os.kill(agent, signal.SIGKILL)
    thaw(disk)
    assert eventually(lambda: gone(agent), 20)
    assert path.read_bytes() != pattern(0, WHOLE), "the agent was done before it died: nothing is shown"
    told = recover(job, "--dry-run")
    assert told.returncode == 0 and str(path) in told.stdout and ledgers(job)
    done = recover(job)
    assert done.returncode == 0 and f"{path}: recovered" in done.stdout, done
    assert path.read_bytes() == pattern(0, WHOLE)
    assert recover(job).returncode == 0 and ledgers(job) == []


def test_who_opens_the_file_waits_for_the_agent(held, new_job):
    job, disk = held
    path, _ = close_while_frozen(job, disk)
    reader = new_job(job.mpi)
    reader.temporary = job.temporary
    reader.start(BUILD / "bin/tests" / f"victim_{job.mpi}", path, f"read={WHOLE}")
    with pytest.raises(AssertionError, match="no end"):
        reader.wait(0.5)
    thaw(disk)
    assert reader.wait(BOUND_S) == 0 and reader.out.count("read right") == 2, reader.out + reader.err


def test_who_opens_the_file_gets_what_a_dead_agent_left(held, new_job):
    job, disk = held
    path, agent = close_while_frozen(job, disk)
    os.kill(agent, signal.SIGKILL)
    thaw(disk)
    assert eventually(lambda: gone(agent), 20)
    reader = new_job(job.mpi)
    reader.temporary = job.temporary
    reader.start(BUILD / "bin/tests" / f"victim_{job.mpi}", path, f"read={WHOLE}")
    assert reader.wait(BOUND_S) == 0 and reader.out.count("read right") == 2, reader.out + reader.err
    assert ledgers(job) == []


@pytest.mark.parametrize("durability", ["server", "disk", "node"])
def test_after_sync_nothing_is_lost_whoever_dies(job, tmp_path, durability):
    path = tmp_path / "data"
    words = [f"piece={PIECE}", f"pieces={PIECES}", "sync=1", "hold=sync"]
    job.victim(path, *words, durability=durability)
    ranks = job.at_stop()
    kill(*ranks.values(), job.agent())
    job.wait(SEEN_S)
    assert path.read_bytes() == pattern(0, WHOLE)
    assert recover(job).returncode == 0
    assert path.read_bytes() == pattern(0, WHOLE)


def test_after_close_the_applications_death_loses_nothing(held):
    job, disk = held
    path = disk / "data"
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", "hold=close", durability="node", strategy="sort")
    ranks = job.at_stop()
    kill(*ranks.values())
    job.wait(SEEN_S)
    job.expect_nothing_left()
    assert path.read_bytes() == pattern(0, WHOLE)
