# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""One writer: an agent that outlives its job, and the next job that opens the same file."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import BUILD, eventually, gone, state
from disk import freeze, overlay, small_disk, thaw
from victim import pattern

PIECE, PIECES = 1024, 256
BOUND_S = 60.0
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="it needs root")
BYTES = 2 * PIECE * PIECES


def older(data: bytes) -> bytes:
    return bytes((byte + 1) % 256 for byte in data)


def end_ranks(job) -> None:
    """As a scheduler ends them, and the launcher too."""
    for pid in job.members():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(job.launcher_pid, signal.SIGKILL)
    assert eventually(lambda: not job.members(), BOUND_S)


def killed_job(new_job, mpi, path, stopped, kill=True, **settings):
    """A job whose ranks are killed, or stay. Their agent is stopped first, and has bytes in their rings."""
    job = new_job(mpi)
    job.linger_ms = 30_000 if not stopped else job.linger_ms
    words = [path, f"piece={PIECE}", f"pieces={PIECES}", "stop=1", "add=1"]
    job.victim(*words, strategy="sort", **settings)
    job.at_stop()
    agent = job.agent()
    if stopped:
        os.kill(agent, signal.SIGSTOP)
        job.go()
        assert eventually(lambda: len(re.findall(r"wrote \d 256", job.out)) == 2 or in_close(job), BOUND_S)
    if kill:
        end_ranks(job)
    return job, agent


def threads(pid: int) -> str:
    """The states of a process's threads."""
    return "".join(stat.read_text().rsplit(")", 1)[1].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat"))


def in_close(job) -> bool:
    """All ranks wait for the agent: they have written everything."""
    return all(state(pid) == "S" for pid in job.members()) and job.out.count("at ") == 2


def next_job(new_job, mpi, first, path, *words, **settings):
    job = new_job(mpi)
    settings = {"strategy": "sort", "journal_directory": first.temporary, **settings}
    job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", *words, **settings)
    return job


def ends(job) -> None:
    """Its agent has gone too: its presence is in another job's folder."""
    assert job.wait(BOUND_S) == 0, job.err
    assert eventually(lambda: not job.agents(), BOUND_S)


def drain(job, timeout: str) -> subprocess.CompletedProcess:
    command = [BUILD / "bin/millrace-recover", "--drain", "--timeout", timeout, "--dir", job.temporary]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=BOUND_S)


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_a_stopped_agent_is_ended_before_the_next_job_writes(new_job, tmp_path, mpi):
    path = tmp_path / "data"
    first, agent = killed_job(new_job, mpi, path, stopped=True)
    drained = drain(first, "1s")
    assert drained.returncode == 1 and f"process {agent}" in drained.stderr, drained
    second = next_job(new_job, mpi, first, path, timeout="2s")
    ends(second)
    assert second.errors() == {}, second.out
    assert gone(agent), "both agents may write the file"
    assert f"{path}: process {agent}, the agent of another job" in second.err
    assert "may be lost" in second.err
    assert path.read_bytes() == pattern(0, BYTES)
    assert drain(first, "1s").returncode == 0


def test_an_agent_is_known_also_if_the_folder_of_journals_takes_no_file(new_job, tmp_path):
    path, missing = tmp_path / "data", tmp_path / "missing"
    first, agent = killed_job(new_job, "mpich", path, stopped=True, journal_directory=missing)
    second = next_job(new_job, "mpich", first, path, timeout="2s", journal_directory=missing)
    ends(second)
    assert second.errors() == {} and gone(agent), "both agents may write the file"
    assert path.read_bytes() == pattern(0, BYTES)


def test_an_agent_is_known_to_a_job_with_another_folder_of_journals(new_job, tmp_path):
    path = tmp_path / "data"
    first, agent = killed_job(new_job, "mpich", path, stopped=True)
    second = next_job(new_job, "mpich", first, path, timeout="2s", journal_directory=tmp_path)
    ends(second)
    assert second.errors() == {} and gone(agent), "both agents may write the file"
    assert path.read_bytes() == pattern(0, BYTES)
    assert drain(first, "1s").returncode == 0


@pytest.mark.parametrize("durability", ["job", "node"])
def test_an_agent_is_known_after_its_file_system_was_mounted_anew(new_job, tmp_path, durability):
    with overlay(tmp_path) as (place, mount_anew):
        path = place / "data"
        path.touch()
        device = os.stat(path).st_dev
        first, agent = killed_job(new_job, "mpich", path, stopped=True, durability=durability)
        mount_anew()
        assert os.stat(path).st_dev != device
        second = next_job(new_job, "mpich", first, path, timeout="2s")
        ends(second)
        assert second.errors() == {} and gone(agent), "both agents may write the file"
        assert path.read_bytes() == pattern(0, BYTES)


def test_bytes_in_a_journal_of_an_agent_that_is_ended_come_to_the_file_first(new_job, tmp_path):
    path = tmp_path / "data"
    first, agent = killed_job(new_job, "mpich", path, stopped=True, durability="node")
    second = next_job(new_job, "mpich", first, path, timeout="2s", strategy="immediate")
    ends(second)
    assert gone(agent)
    assert path.read_bytes() == pattern(0, BYTES)
    assert drain(first, "1s").returncode == 0


def test_an_agent_with_bytes_writes_them_before_the_next_job_opens_the_file(new_job, tmp_path):
    path = tmp_path / "data"
    first, agent = killed_job(new_job, "mpich", path, stopped=False, write_within="1h")
    second = next_job(new_job, "mpich", first, path)
    ends(second)
    assert second.errors() == {} and second.err == ""
    assert path.read_bytes() == pattern(0, BYTES)
    assert not gone(agent), "it has done what it was asked for"
    os.kill(agent, signal.SIGTERM)


@pytest.mark.parametrize("other_file", [True, False])
def test_an_agent_without_bytes_of_the_file_delays_no_job(new_job, tmp_path, other_file):
    path, second_path = tmp_path / "data", tmp_path / "second"
    first = new_job("mpich")
    first.linger_ms = 600_000
    words = [f"stop={PIECES - 1}"] if other_file else []
    first.victim(path, f"piece={PIECE}", f"pieces={PIECES}", *words, strategy="sort")
    if other_file:
        first.at_stop()
    else:
        assert first.wait(BOUND_S) == 0
    agent = first.agent()
    os.kill(agent, signal.SIGSTOP)
    second = next_job(new_job, "mpich", first, second_path if other_file else path)  # with a timeout of 60 s
    ends(second)
    assert second.errors() == {} and second.err == "", second.out
    assert state(agent) == "T"
    os.kill(agent, signal.SIGCONT)
    first.go()
    if other_file:
        assert first.wait(BOUND_S) == 0
    os.kill(agent, signal.SIGTERM)


@pytest.mark.parametrize("words", [[], ["read=1024"]], ids=["writes", "reads"])
@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_an_open_fails_on_all_ranks_if_an_agent_cannot_be_ended(new_job, tmp_path, mpi, words):
    path = tmp_path / "data"
    path.write_bytes(b"x" * 4096)
    job = new_job(mpi)
    command = [BUILD / "bin/tests/stuck_agent", job.temporary, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stuck:
        assert stuck.stdout.readline() == "ready\n"
        job.victim(path, f"piece={PIECE}", f"pieces={PIECES}", *words, timeout="1s")
        assert job.wait(BOUND_S) == 0, job.err
        stuck.stdin.close()
    assert job.errors() == {rank: [("open", "MPI_ERR_FILE_IN_USE")] for rank in (0, 1)}, job.out + job.err
    assert f"{path}: process {stuck.pid}, the agent of another job" in job.err
    assert path.read_bytes() == b"x" * 4096


@pytest.mark.parametrize("words", [[], ["read=1024"]], ids=["writes", "reads"])
def test_an_agent_that_is_killed_while_its_disk_hangs_still_has_the_file(new_job, tmp_path, words):
    """Its process is a zombie, and one thread stays in the kernel: its write may still come to the file."""
    with small_disk(tmp_path) as place:
        path = place / "data"
        path.write_bytes(b"x" * BYTES)
        first, agent = killed_job(new_job, "mpich", path, stopped=True)
        freeze(place)
        try:
            os.kill(agent, signal.SIGCONT)
            assert eventually(lambda: "D" in threads(agent), BOUND_S)
            os.kill(agent, signal.SIGKILL)
            assert eventually(lambda: state(agent) == "Z", BOUND_S)
            drained = drain(first, "1s")
            assert drained.returncode == 1 and f"process {agent}" in drained.stderr, drained
            second = next_job(new_job, "mpich", first, path, *words, timeout="2s")
            assert second.wait(BOUND_S) == 0, second.err
        finally:
            thaw(place)
        assert second.errors() == {rank: [("open", "MPI_ERR_FILE_IN_USE")] for rank in (0, 1)}, second.out
        assert eventually(lambda: gone(agent), BOUND_S)
        assert drain(first, "1s").returncode == 0


@needs_root
def test_jobs_in_containers_with_processes_of_their_own_find_each_other(new_job, tmp_path):
    """Both agents have the same number of a process there."""
    path = tmp_path / "data"
    own = ("unshare", "-p", "-f", "--kill-child", "--mount-proc", "--mount", "--propagation", "private")
    first, agent = killed_job(new_job, "mpich", path, stopped=True, prefix=own, kill=False)
    second = next_job(new_job, "mpich", first, path, timeout="2s", prefix=own)
    assert second.wait(BOUND_S) == 0, second.err
    assert second.errors() == {rank: [("open", "MPI_ERR_FILE_IN_USE")] for rank in (0, 1)}, second.out
    os.kill(agent, signal.SIGCONT)
    end_ranks(first)


@pytest.mark.parametrize("free", [0, 1, 2, 3])
def test_a_job_without_descriptors_does_not_write_beside_an_agent(new_job, tmp_path, free):
    path, other = tmp_path / "data", tmp_path / "other"
    first, agent = killed_job(new_job, "mpich", path, stopped=True)
    second = new_job("mpich")
    words = [f"piece={PIECE}", "pieces=4", f"second={path}", f"free={free}"]
    settings = {"strategy": "sort", "journal_directory": first.temporary, "timeout": "2s"}
    second.victim(other, *words, prefix=("prlimit", "--nofile=256"), **settings)
    assert second.wait(BOUND_S) == 0, second.err
    refused = "second error 0 open" in second.out
    assert refused or gone(agent), "both agents may write the file\n" + second.out + second.err
    with contextlib.suppress(OSError):
        os.kill(agent, signal.SIGKILL)
    assert eventually(lambda: gone(agent), BOUND_S)
    assert drain(first, "1s").returncode == 0


def leave_free(process: int, free: int) -> None:
    """The process keeps that many free descriptors."""
    used = {int(entry.name) for entry in Path(f"/proc/{process}/fd").iterdir()}
    limit = 0
    while limit <= max(used) or limit - len(used) < free:
        limit += 1
    unused = limit - len(used)
    assert unused == free, f"descriptors {used}"
    subprocess.run(["prlimit", f"--pid={process}", f"--nofile={limit}:{limit}"], check=True)


@pytest.mark.parametrize("strategy", ["sort", "journal"])
@pytest.mark.parametrize("free", [0, 1])
@pytest.mark.parametrize("ranks", [1, 2])
def test_an_agent_without_descriptors_writes_its_bytes_and_lives(new_job, tmp_path, ranks, free, strategy):
    path = tmp_path / "data"
    first = new_job("mpich")
    words = [path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={PIECES - 1}", "add=1"]
    first.victim(*words, strategy=strategy, write_within="1h")
    first.at_stop()
    agent = first.agent()
    leave_free(agent, free)
    second = next_job(new_job, "mpich", first, path, ranks=ranks, timeout="2s", stats="")
    ends(second)
    assert second.errors() == {} and second.err == "", second.out
    written = ranks * PIECE * PIECES  # before its last piece, a rank of the first job waits
    assert path.read_bytes() == pattern(0, written) + older(pattern(written, max(0, BYTES - 2 * PIECE - written)))
    assert state(agent) == "S"
    first.go()
    assert first.wait(BOUND_S) == 0 and first.errors() == {}, first.out


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
@pytest.mark.parametrize("free", range(5))
def test_ranks_whose_agent_has_no_descriptors_leave_the_file_to_the_library(new_job, tmp_path, mpi, free):
    """They belong to the same job, and come later."""
    first = new_job(mpi)
    first.victim(tmp_path / "first", f"piece={PIECE}", f"pieces={PIECES}", "stop=1", strategy="sort")
    first.at_stop()
    leave_free(first.agent(), free)
    path = tmp_path / "data"
    second = new_job(mpi)
    second.key = first.key
    second.victim(path, f"piece={PIECE}", f"pieces={PIECES}", strategy="sort", timeout="60s")
    assert second.wait(BOUND_S / 3) == 0, second.err
    assert second.errors() == {}, second.out
    assert path.read_bytes() == pattern(0, BYTES)
    served = first.stats.exists() and str(path) in first.stats.read_text()
    assert served or second.err, "nobody says why"
    assert free > 1 or "the job's agent has no file descriptor" in second.err, second.err
    first.go()
    assert first.wait(BOUND_S) == 0 and first.errors() == {}, first.out


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_a_journal_of_a_job_that_goes_on_does_not_come_back_over_what_the_next_job_writes(new_job, tmp_path, mpi):
    path = tmp_path / "data"
    first, agent = killed_job(new_job, mpi, path, stopped=False, kill=False, durability="node")
    second = next_job(new_job, mpi, first, path)
    assert second.wait(BOUND_S) == 0 and second.errors() == {}, second.out + second.err
    os.kill(agent, signal.SIGKILL)
    end_ranks(first)
    assert eventually(lambda: gone(agent), BOUND_S)
    third = next_job(new_job, mpi, first, path, f"read={BYTES}")
    ends(third)
    assert third.out.count("read right") == 2, third.out + third.err
    assert drain(first, "1s").returncode == 0 and path.read_bytes() == pattern(0, BYTES)


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
@pytest.mark.parametrize("settings", [{"durability": "node"}, {"strategy": "journal"}], ids=["node", "journal"])
def test_two_jobs_write_one_file_with_journals(new_job, tmp_path, mpi, settings):
    """The first one's earlier bytes do not come back over those of the second one, although it writes on elsewhere."""
    path = tmp_path / "data"
    first = new_job(mpi)
    words = [f"piece={PIECE}", f"pieces={1000 * PIECES}", f"stop={PIECES}", "add=1"]
    first.victim(
        path, *words, f"progress={tmp_path / 'progress'}", "pause=1000",
        **{"strategy": "sort", **settings},
    )  # fmt: skip
    first.at_stop()
    agent = first.agent()
    first.go()
    second = next_job(new_job, mpi, first, path, **settings)
    assert second.wait(BOUND_S) == 0 and second.errors() == {}, second.out + second.err
    assert not second.err, second.err
    assert "wrote" not in first.out and gone(agent) is False, "the first job does not write on"
    os.kill(agent, signal.SIGKILL)
    end_ranks(first)
    assert eventually(lambda: gone(agent), BOUND_S)
    # An open recovers nothing into a file that another job has changed. Recovery does it on demand.
    command = [BUILD / "bin/millrace-recover", "--force", "--dir", first.temporary]
    forced = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BOUND_S)
    assert forced.returncode == 0, forced
    assert path.read_bytes()[:BYTES] == pattern(0, BYTES), forced
