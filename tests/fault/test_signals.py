# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Schedulers and users signal every process of a step: the agent with the ranks."""

import os
import re
import signal

import pytest
from conftest import eventually, gone, state
from victim import pattern

PIECE, STOP, PIECES = 1024, 1000, 2000
NEWS = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU", "SIGXFSZ", "SIGVTALRM"]


def begin(job, tmp_path, *words, **settings):
    path = tmp_path / "data"
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", *words, **settings)
    job.at_stop()
    return path, job.agent()


def expect_all_is_well(job, *paths):
    assert job.wait(60) == 0, job.err
    assert job.errors() == {}, job.out
    assert len(re.findall(r"closed \d MPI_SUCCESS", job.out)) == 2 * len(paths), job.out
    assert paths[0].read_bytes() == pattern(0, 2 * PIECES * PIECE)


@pytest.mark.parametrize("name", NEWS)
def test_an_agent_that_is_signalled_serves_its_ranks_on(job, tmp_path, name):
    path, agent = begin(job, tmp_path)
    os.kill(agent, getattr(signal, name))
    job.go()
    expect_all_is_well(job, path)


@pytest.mark.parametrize("strategy", ["immediate", "sort", "journal"])
def test_every_strategy_goes_on_after_sigterm(job, tmp_path, strategy):
    path, agent = begin(job, tmp_path, strategy=strategy)
    for _ in range(3):
        os.kill(agent, signal.SIGTERM)
    job.go()
    expect_all_is_well(job, path)


def test_a_file_that_is_opened_after_sigterm_is_served_too(job, tmp_path):
    second = tmp_path / "second"
    path = tmp_path / "data"
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", "hold=sync", f"second={second}")
    job.at_stop()
    os.kill(job.agent(), signal.SIGTERM)
    job.go()
    job.go("held")
    assert job.wait(60) == 0, job.err
    assert job.errors() == {} and "second error" not in job.out, job.out
    assert second.read_bytes() == pattern(0, 2 * 512 * 1024)


def test_sigterm_brings_to_the_file_what_the_agent_has(job, tmp_path):
    # Nobody asks, and the bound is far away.
    path, agent = begin(job, tmp_path, strategy="sort", write_within="1h")
    assert path.stat().st_size == 0
    os.kill(agent, signal.SIGTERM)
    assert eventually(lambda: path.read_bytes() == pattern(0, 2 * STOP * PIECE), 20), path.stat().st_size
    job.go()
    expect_all_is_well(job, path)


def test_a_handler_may_exit_while_a_write_waits_for_the_agent(job, tmp_path):
    # The write that the signal interrupts keeps its lock for good. An agent that stands still fills the ring.
    job.victim(tmp_path / "data", "pieces=1000000", f"stop={STOP}", "exits=1", ranks=1)
    rank = job.at_stop(1)[0]
    agent = job.agent()
    os.kill(agent, signal.SIGSTOP)
    job.go()
    seen = []

    def waits():
        seen.append(state(rank))
        return len(seen) > 25 and set(seen[-25:]) == {"S"}

    assert eventually(waits, 30), job.err
    os.kill(rank, signal.SIGTERM)
    ended = eventually(lambda: gone(rank), 10)
    os.kill(agent, signal.SIGCONT)
    assert ended
    job.wait(60)


def test_after_sigterm_the_agent_leaves_with_its_last_rank(job, tmp_path):
    # Not seconds later, as it would to spare the next program of the job its start.
    job.linger_ms = 1000
    path, agent = begin(job, tmp_path, hold="unused")
    os.kill(agent, signal.SIGTERM)
    job.go()
    expect_all_is_well(job, path)
    assert eventually(lambda: not job.agents(), job.linger_ms / 1000 * 0.8)
