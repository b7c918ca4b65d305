# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Anybody on the node may connect with the agent of a job; other hosts: tests/cluster/test_flood.py."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, eventually
from victim import pattern

PIECE, STOP, PIECES = 1024, 1000, 20000
NOBODY = 65534
UNGREETED_S = 10  # an agent gives a connection so long


def begin(job, tmp_path, **settings):
    path = tmp_path / "data"
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}", **settings)
    job.at_stop()
    agent = job.agent()
    return path, agent, Path(f"/proc/{agent}/cmdline").read_bytes().split(b"\0")[1].decode()


def expect_all_is_well(job, path):
    job.go()
    assert job.wait(120) == 0, job.err
    assert job.errors() == {}, job.out
    assert path.read_bytes() == pattern(0, 2 * PIECES * PIECE)
    assert "MPI library alone" not in job.err


def descriptors(agent):
    return len(os.listdir(f"/proc/{agent}/fd"))


def has_gone(agent):
    return not Path(f"/proc/{agent}").exists()


@contextlib.contextmanager
def flood(name, floods=2):
    """Of another user. Yields how often each of them has connected, when it is over."""
    command = [sys.executable, str(ROOT / "tests/flood.py"), "unix", name]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, env=dict(os.environ, FLOOD_UID=str(NOBODY)), **pipes) for _ in range(floods)]
    counts: list[int] = []
    try:
        for one in running:
            assert one.stdout.readline() == "begun\n"
        for one in running:  # however busy the machine is
            assert one.stdout.readline() == "floods\n"
        yield counts
        counts += [int(one.communicate(timeout=60)[0].split()[-1]) for one in running]
    finally:
        for one in running:
            one.kill()
            one.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_a_flood_of_another_user_changes_nothing_and_holds_no_agent(job, tmp_path):
    path, agent, name = begin(job, tmp_path)
    before = descriptors(agent)
    with flood(name) as counts:
        time.sleep(2)  # so long it has the agent to itself
        assert descriptors(agent) < before + 150
        expect_all_is_well(job, path)
        assert eventually(lambda: has_gone(agent), 20), "the flood keeps the agent alive"
    assert min(counts) > 500, counts


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_ranks_find_their_agent_in_a_flood(job, tmp_path):
    # Its name is flooded from before it is there.
    probe = tmp_path / "probe"
    path, _, name = begin(job, tmp_path)
    with flood(name) as counts:
        expect_all_is_well(job, path)
        path.rename(probe)
        (job.folder / "go").unlink()
        path, _, again = begin(job, tmp_path)
        assert again == name
        expect_all_is_well(job, path)
    assert min(counts) > 500, counts


def test_processes_of_the_same_user_that_say_nothing_hold_no_agent(job, tmp_path):
    path, agent, name = begin(job, tmp_path)
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) for _ in range(40)]
        for one in silent:
            one.settimeout(5 * UNGREETED_S)
            one.connect(f"\0{name}")
        expect_all_is_well(job, path)
        for one in silent:
            assert one.recv(1) == b"", "the agent closes it"
        assert eventually(lambda: has_gone(agent), 20), "the agent stays"
