# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What survives what with durability node and with strategy journal: docs/explanation/promises.md names these tests.

A frozen disk under the file holds its writes back, so that a close has certainly returned before they are there.
"""

import contextlib
import os
import random
import re
import signal
import subprocess
import time

import pytest
from conftest import BUILD, eventually, gone
from disk import freeze, small_disk, thaw
from test_kill import PIECE, PIECES, SEEN_S, STOP
from victim import pattern

BOUND_S = 60.0
LONG = bool(os.environ.get("TEST_LONG"))
FIRST = int(os.environ.get("TEST_FIRST_SEED", "1"))
SEEDS = range(FIRST, FIRST + (50 if LONG else 2))
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


def strike(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # the launcher may have been faster
            os.kill(pid, signal.SIGKILL)


def kill(*pids):
    strike(pids)
    assert eventually(lambda: all(gone(pid) for pid in pids), 20)


def close_while_frozen(job, disk, *words):
    """The file is closed, but nothing after the stop can be in it."""
    path = disk / "data"
    words = [f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", *words]
    job.victim(path, *words, durability="node", strategy="sort")
    ranks = job.at_stop()
    agent = job.agent()
    freeze(disk)
    job.go()
    assert eventually(lambda: job.out.count("closed") == 2, BOUND_S), job.out + job.err
    assert job.errors() == {} and job.out.count("MPI_SUCCESS") == 2, job.out
    assert ledgers(job), "the close returned, but nothing is kept"
    return path, agent, ranks


def kill_frozen(disk, *pids):
    """Who writes to the disk can only die when it thaws, and may finish one write."""
    strike(pids)
    thaw(disk)
    assert eventually(lambda: all(gone(pid) for pid in pids), 20)


def test_a_close_returns_before_the_bytes_are_in_the_file_and_the_agent_goes_on(held):
    job, disk = held
    path, agent, _ = close_while_frozen(job, disk)
    assert job.wait(BOUND_S) == 0 and not gone(agent)
    thaw(disk)
    done = millrace("drain", "--dir", job.temporary)
    assert done.returncode == 0, done.stderr
    assert ledgers(job) == [] and path.read_bytes() == pattern(0, WHOLE)


@pytest.mark.parametrize("who", ["agent", "everybody"])
def test_after_close_the_agents_or_nodes_death_loses_nothing(held, who):
    job, disk = held
    path, agent, ranks = close_while_frozen(job, disk, "hold=close")
    kill_frozen(disk, agent, *(ranks.values() if who == "everybody" else ()))
    job.go("held")
    job.wait(BOUND_S)
    assert path.read_bytes() != pattern(0, WHOLE), "the agent was done before it died: nothing is shown"
    told = recover(job, "--dry-run")
    assert told.returncode == 0 and str(path) in told.stdout and ledgers(job)
    done = recover(job)
    assert done.returncode == 0 and f"{path}: recovered" in done.stdout, done
    assert path.read_bytes() == pattern(0, WHOLE)
    assert recover(job).returncode == 0 and ledgers(job) == []


def test_who_opens_the_file_waits_for_the_agent(held, new_job):
    job, disk = held
    path, _, _ = close_while_frozen(job, disk)
    reader = new_job(job.mpi)
    reader.temporary = job.temporary
    reader.start(BUILD / "bin/tests" / f"victim_{job.mpi}", path, f"read={WHOLE}")
    with pytest.raises(AssertionError, match="no end"):
        reader.wait(0.5)
    thaw(disk)
    assert reader.wait(BOUND_S) == 0 and reader.out.count("read right") == 2, reader.out + reader.err


def test_who_opens_the_file_gets_what_a_dead_agent_left(held, new_job):
    job, disk = held
    path, agent, _ = close_while_frozen(job, disk)
    job.wait(BOUND_S)
    kill_frozen(disk, agent)
    reader = new_job(job.mpi)
    reader.temporary = job.temporary
    reader.start(BUILD / "bin/tests" / f"victim_{job.mpi}", path, f"read={WHOLE}")
    assert reader.wait(BOUND_S) == 0 and reader.out.count("read right") == 2, reader.out + reader.err
    assert ledgers(job) == []


@pytest.mark.parametrize("durability", ["server", "node"])
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


# --- strategy journal: what a write returned for ---


def written(job):
    """How many pieces each rank's calls returned well for."""
    return {int(rank): int(count) for rank, count in re.findall(r"wrote (\d+) (\d+)", job.out)}


def expect_written(job, path):
    """After recovery: every piece of every call that returned well."""
    counts = written(job)
    assert set(counts) == {0, 1}, job.out
    bytes_there = path.read_bytes()
    for rank, count in counts.items():
        for i in range(count):
            at = (2 * i + rank) * PIECE
            assert bytes_there[at : at + PIECE] == pattern(at, PIECE), f"piece {i} of rank {rank}, which wrote {count}"


def expect_told_and_recovered(job, path):
    assert job.wait(SEEN_S) == 0
    errors = job.errors()
    assert set(errors) == {0, 1} and {name for seen in errors.values() for _, name in seen} == {"MPI_ERR_IO"}, job.out
    assert "the Millrace agent of this node has gone" in job.err and "millrace recover" in job.err
    done = recover(job)
    assert done.returncode == 0, done
    expect_written(job, path)
    assert ledgers(job) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_with_strategy_journal_the_agents_death_loses_no_write_that_returned(job, tmp_path, seed):
    dice = random.Random(seed)
    stop, wait_s = dice.randrange(PIECES), dice.choice([0, 0, 0.01, 0.1])
    print(f"seed {seed}: stop {stop}, {wait_s} s")
    path = tmp_path / "data"
    words = [f"piece={PIECE}", f"pieces={PIECES}", f"stop={stop}", "sync=1"]
    job.victim(path, *words, strategy="journal", sort_buffer="1MiB")
    job.at_stop()
    agent = job.agent()
    if wait_s:
        job.go()
        time.sleep(wait_s)
    kill(agent)
    job.go()
    job.wait(SEEN_S)
    if job.errors():
        expect_told_and_recovered(job, path)
    else:  # all was over before the agent died
        assert job.out.count("closed") == job.out.count("MPI_SUCCESS") == 2, job.out + job.err
        assert path.read_bytes() == pattern(0, WHOLE) and ledgers(job) == []


def test_what_a_stuck_agent_never_took_is_saved_by_the_ranks(job, tmp_path):
    path = tmp_path / "data"
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", strategy="journal")
    job.at_stop()
    agent = job.agent()
    os.kill(agent, signal.SIGSTOP)
    job.go()
    with pytest.raises(AssertionError, match="no end"):
        job.wait(0.5)
    kill(agent)
    expect_told_and_recovered(job, path)
    assert all(count > STOP for count in written(job).values())


def test_after_a_sync_the_journal_holds_nothing_more(job, tmp_path):
    path = tmp_path / "data"
    job.victim(path, "pieces=2000", "sync=1", "hold=sync", strategy="journal")
    job.at_stop()
    assert eventually(lambda: ledgers(job) == [], 5), ledgers(job)
    job.go("held")
    assert job.wait(BOUND_S) == 0 and job.errors() == {}
