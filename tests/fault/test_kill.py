# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Agents and ranks that die or are stuck in the middle of a run."""

import os
import re
import signal

import pytest
from victim import pattern

PIECE, STOP, PIECES = 1024, 2000, 4000
SEEN_S = 10.0  # in which ranks have seen that the agent is gone, and have ended; a wait looks ten times a second


def begin(job, tmp_path, pieces=PIECES, **settings):
    path = tmp_path / "data"
    job.victim(path, f"piece={PIECE}", f"pieces={pieces}", f"stop={STOP}", "sync=1", **settings)
    return path, job.at_stop(), job.agent()


@pytest.mark.parametrize("strategy", ["auto", "immediate"])
def test_every_rank_learns_that_the_agent_was_killed(job, tmp_path, strategy):
    path, _, agent = begin(job, tmp_path, strategy=strategy, sort_buffer="1MiB")
    os.kill(agent, signal.SIGKILL)
    job.go()
    assert job.wait(SEEN_S) == 0
    errors = job.errors()
    assert set(errors) == {0, 1}, job.out
    assert {name for seen in errors.values() for _, name in seen} == {"MPI_ERR_IO"}
    assert "the Millrace agent of this node has gone" in job.err and "write the file again" in job.err


@pytest.mark.parametrize("call", ["write", "sync"])
def test_a_rank_that_waits_for_the_agent_sees_its_death(job, tmp_path, call):
    # A write waits if the rest is more than a ring holds; otherwise the sync behind it waits.
    path, _, agent = begin(job, tmp_path, PIECES if call == "write" else STOP + 500)
    os.kill(agent, signal.SIGSTOP)
    job.go()
    with pytest.raises(AssertionError, match="no end"):
        job.wait(1.0)
    os.kill(agent, signal.SIGKILL)
    assert job.wait(SEEN_S) == 0
    assert all((call, "MPI_ERR_IO") in seen for seen in job.errors().values()) and len(job.errors()) == 2, job.out


def test_after_the_agents_death_the_next_file_is_written_by_the_mpi_library(job, tmp_path):
    path, second = tmp_path / "data", tmp_path / "second"
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", f"second={second}")
    job.at_stop()
    os.kill(job.agent(), signal.SIGKILL)
    job.go()
    assert job.wait(SEEN_S) == 0
    assert len(re.findall(r"second closed \d MPI_SUCCESS", job.out)) == 2, job.out
    assert "second error" not in job.out
    assert second.read_bytes() == pattern(0, 2 * 512 * 1024)


def test_a_fatal_error_ends_the_program(job, tmp_path):
    path = tmp_path / "data"
    job.victim(path, f"pieces={PIECES}", f"stop={STOP}", "fatal=1")
    job.at_stop()
    os.kill(job.agent(), signal.SIGKILL)
    job.go()
    assert job.wait(SEEN_S) != 0
    assert "end" not in job.out.split("\n")
    assert "the Millrace agent of this node has gone" in job.err


def test_an_agent_that_is_stuck_is_an_error_within_the_bound(job, tmp_path):
    timeout_s = 1
    path, _, agent = begin(job, tmp_path, timeout=f"{timeout_s}s")
    os.kill(agent, signal.SIGSTOP)
    job.go()
    # Each of sync and close may use up the bound.
    assert job.wait(2 * timeout_s + SEEN_S) == 0
    assert all(("close", "MPI_ERR_IO") in seen for seen in job.errors().values()) and len(job.errors()) == 2
    assert "MILLRACE_TIMEOUT" in job.err
    os.kill(agent, signal.SIGCONT)  # it drains and leaves: the fixture sees to that
    assert job.sockets() != []


def test_a_job_that_was_suspended_goes_on_as_if_nothing_had_happened(job, tmp_path):
    path, ranks, agent = begin(job, tmp_path, timeout="5s")
    os.kill(agent, signal.SIGSTOP)
    job.go()
    with pytest.raises(AssertionError, match="no end"):
        job.wait(0.3)
    for pid in ranks.values():
        os.kill(pid, signal.SIGSTOP)
    with pytest.raises(AssertionError, match="no end"):
        job.wait(8.0)
    for pid in [agent, *ranks.values()]:
        os.kill(pid, signal.SIGCONT)
    assert job.wait(SEEN_S) == 0
    assert job.errors() == {}, job.out
    assert path.read_bytes() == pattern(0, 2 * PIECE * PIECES)


def test_what_a_killed_rank_wrote_is_in_the_file(job, tmp_path):
    path, ranks, _ = begin(job, tmp_path)
    os.kill(ranks[1], signal.SIGKILL)
    assert job.wait(SEEN_S) != 0  # the launcher ends the others
    job.expect_nothing_left()
    assert path.read_bytes() == pattern(0, 2 * PIECE * STOP)


@pytest.mark.both_mpis
def test_an_interrupted_launcher_leaves_nothing_but_what_was_written(job, tmp_path):
    path, _, _ = begin(job, tmp_path)
    os.killpg(job.launcher_pid, signal.SIGINT)
    job.wait(SEEN_S)  # not every launcher has a status for it
    assert "closed" not in job.out
    job.expect_nothing_left()
    assert path.read_bytes() == pattern(0, 2 * PIECE * STOP)


@pytest.mark.both_mpis
def test_a_killed_launcher_leaves_nothing_but_what_was_written(job, tmp_path):
    path, ranks, _ = begin(job, tmp_path)
    os.kill(job.launcher_pid, signal.SIGKILL)
    job.wait(SEEN_S)
    for pid in ranks.values():  # the launcher can't any more
        os.kill(pid, signal.SIGKILL)
    job.expect_nothing_left()
    assert path.read_bytes() == pattern(0, 2 * PIECE * STOP)
