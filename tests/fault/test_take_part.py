# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of which some ranks have no Millrace, another build of it, or another agent."""

from __future__ import annotations

import os

import pytest
from conftest import BUILD
from victim import pattern

PIECE, PIECES = 1024, 256
BOUND_S = 60.0
BYTES = 2 * PIECE * PIECES
pytestmark = pytest.mark.both_mpis  # each tells its ranks in its own way who the others are
# A rank does not know then that all ranks are on its node.
UNTOLD = [word for name in ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE") for word in ("-u", name)]


def program(job, path, *words: str) -> list[object]:
    return [BUILD / "bin/tests" / f"victim_{job.mpi}", path, f"piece={PIECE}", f"pieces={PIECES}", *words]


def start_mixed(job, path, missing: int, env: list[str], first: str = "") -> None:
    """One of two ranks has no preload. The other one preloads `first` before Millrace."""
    preload = ["-u", "LD_PRELOAD"], [f"LD_PRELOAD={first}:{job.environment(True, {})['LD_PRELOAD']}"] if first else []
    parts = [["env", *env, *preload[rank != missing], *program(job, path)] for rank in (0, 1)]
    job.start(*parts[0], ":", "-n", "1", *parts[1], ranks=1, strategy="sort")


@pytest.mark.parametrize("missing", [0, 1])
def test_a_rank_without_millrace_is_named_and_the_job_runs_with_the_library(job, tmp_path, missing):
    path = tmp_path / "data"
    start_mixed(job, path, missing, [])
    assert job.wait(BOUND_S) == 0, job.err
    assert job.errors() == {}, job.out
    assert job.err.count(f"rank {missing} of MPI_COMM_WORLD runs without Millrace") == 1, job.err
    assert path.read_bytes() == pattern(0, BYTES)
    assert job.agents() == []


def test_a_rank_with_another_target_is_named_and_the_job_runs_with_the_library(job, tmp_path):
    path = tmp_path / "data"
    parts = [["env", *env, *program(job, path)] for env in ([], ["MILLRACE_TARGET=first"])]
    job.start(*parts[0], ":", "-n", "1", *parts[1], ranks=1, strategy="sort")
    assert job.wait(BOUND_S) == 0, job.err
    assert job.errors() == {}, job.out
    for rank in (0, 1):
        assert (
            f"rank {rank} of MPI_COMM_WORLD runs without Millrace, or with another build of it or another --target"
            in job.err
        ), job.err
    assert path.read_bytes() == pattern(0, BYTES)


@pytest.mark.parametrize("other", ["build", "agent"])
def test_ranks_that_differ_are_named_and_the_job_runs_with_the_library(job, tmp_path, other):
    path = tmp_path / "data"
    libraries = f"{BUILD}/bin/tests/libother_build_{job.mpi}.so:{job.environment(True, {})['LD_PRELOAD']}"
    prefix = ("env", f"LD_PRELOAD={libraries}", f"TEST_OTHER={other}", "TEST_OTHER_RANK=1")
    job.start("env", *UNTOLD, *program(job, path), prefix=prefix, strategy="sort")
    assert job.wait(BOUND_S) == 0, job.err
    assert job.errors() == {}, job.out
    assert job.err.count("rank 1 of the file's communicator and other ranks have different builds") == 1, job.err
    assert path.read_bytes() == pattern(0, BYTES)
    assert job.agents() == []


@pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="waits longer than a bound: a long test")
@pytest.mark.parametrize("env", [[], UNTOLD], ids=["one node", "unknown nodes"])
def test_a_rank_that_comes_after_the_bound_takes_part(job, tmp_path, env):
    path = tmp_path / "data"
    job.start("env", *env, *program(job, path, "opens_late=40000"), strategy="sort", timeout="1s")
    assert job.wait(2 * BOUND_S) == 0, job.err
    assert job.errors() == {} and job.err == "", job.out
    assert path.read_bytes() == pattern(0, BYTES)
    assert job.stats.exists(), "the agent wrote the file"


@pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="waits longer than a bound: a long test")
@pytest.mark.parametrize(("missing", "first"), [(0, ""), (1, ""), (1, "libslow_pauses.so")])
def test_a_job_with_a_rank_that_nobody_sees_ends_with_a_line_after_the_bound(job, tmp_path, missing, first):
    start_mixed(job, tmp_path / "data", missing, UNTOLD, f"{BUILD}/bin/tests/{first}" if first else "")
    assert job.wait(4 * BOUND_S) != 0
    assert "some ranks have not answered Millrace for 60 s" in job.err, job.err


@pytest.mark.skipif(not os.environ.get("TEST_LONG"), reason="waits longer than a bound: a long test")
@pytest.mark.parametrize("slow", [0, 1])
def test_a_rank_that_answers_after_the_bound_is_named(job, tmp_path, slow):
    path = tmp_path / "data"
    libraries = f"{BUILD}/bin/tests/libslow_look.so:{job.environment(True, {})['LD_PRELOAD']}"
    prefix = ("env", f"LD_PRELOAD={libraries}", f"TEST_SLOW_RANK={slow}")
    job.start(*program(job, path), prefix=prefix, strategy="sort", timeout="1s")
    assert job.wait(2 * BOUND_S) == 0, job.err
    assert job.errors() == {}, job.out
    line = f"rank {slow} of MPI_COMM_WORLD keeps other ranks waiting in MPI_File_open for 30 s"
    assert job.err.count(line) == 1, job.err
    assert path.read_bytes() == pattern(0, BYTES)
