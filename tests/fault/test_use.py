# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong use that is not the command line's (tests/cli): paths, programs, what Millrace itself needs."""

import contextlib
import os
import shutil
import subprocess

import pytest
from conftest import BUILD, ROOT
from victim import pattern

BOUND_S = 30.0
SIZE = 2 * 1024 * 1024


@pytest.fixture
def as_nobody(tmp_path):
    """What stands before a command so that permissions count; everything on its way must be readable."""
    if os.geteuid() != 0:
        return ()
    if not shutil.which("setpriv"):
        pytest.skip("root may write everywhere, and there is no setpriv to be somebody else")
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_uid == os.getuid() and str(folder) != "/":
            with contextlib.suppress(OSError):
                folder.chmod(folder.stat().st_mode | 0o011)
    for name in ("bin", "lib"):
        if subprocess.run(["setpriv", "--reuid=65534", "test", "-r", BUILD / name], check=False).returncode != 0:
            pytest.skip("the build folder is hidden from other users")
    return ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@pytest.mark.parametrize(
    ("place", "name"), [("nowhere/data", "MPI_ERR_NO_SUCH_FILE"), ("closed/data", "MPI_ERR_ACCESS")]
)
def test_a_path_that_cannot_be_written_is_refused_as_the_mpi_library_does_it(new_job, tmp_path, as_nobody, place, name):
    (tmp_path / "closed").mkdir(mode=0o555)
    for mpi in ("mpich", "ompi"):
        seen = []
        for preload in (False, True):
            job = new_job(mpi)
            job.temporary.chmod(0o777)
            job.victim(tmp_path / place, preload=preload, prefix=as_nobody)
            assert job.wait(BOUND_S) == 0
            assert job.agents() == [] and job.sockets() == []
            seen.append(job.errors())
        assert seen[0] == seen[1] and set(seen[0]) == {0, 1}, (mpi, seen)
        if mpi == "mpich":
            assert seen[1][0] == [("open", name)]


def test_a_file_that_cannot_be_opened_again_stays_with_the_mpi_library(job, tmp_path, as_nobody):
    """Made read-only after the program opened it: the program may write on, a second open may not."""
    folder = tmp_path / "place"
    folder.mkdir()
    folder.chmod(0o777)
    path = folder / "data"
    job.temporary.chmod(0o777)
    job.folder.chmod(0o777)
    job.victim(path, "stop=0", prefix=as_nobody)
    job.at_stop()
    path.chmod(0o444)
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
    job.go()
    assert job.wait(BOUND_S) == 0
    assert job.errors() == {} and path.read_bytes() == pattern(0, SIZE)


@pytest.mark.parametrize("agent", ["nowhere", "not_a_program", "fails"])
def test_without_an_agent_files_are_right_and_it_is_said_why(job, tmp_path, agent):
    (tmp_path / "not_a_program").write_text("")
    (tmp_path / "fails").write_text("#!/bin/sh\nexit 13\n")
    (tmp_path / "fails").chmod(0o755)
    path = tmp_path / "data"
    job.victim(path, agent=tmp_path / agent)
    assert job.wait(BOUND_S) == 0
    assert job.errors() == {} and path.read_bytes() == pattern(0, SIZE)
    assert "files are written by the MPI library alone" in job.err


def test_reports_that_cannot_be_written_do_not_hurt_the_program(job, tmp_path):
    path = tmp_path / "data"
    job.victim(path, stats=tmp_path / "nowhere/stats", trace=tmp_path / "nowhere")
    assert job.wait(BOUND_S) == 0
    assert job.errors() == {} and path.read_bytes() == pattern(0, SIZE)


def test_a_journal_folder_that_is_not_there_costs_nothing_but_the_journal(job, tmp_path):
    path = tmp_path / "data"
    job.victim(path, "pieces=4096", strategy="journal", sort_buffer="1MiB", journal_directory=tmp_path / "nowhere")
    assert job.wait(BOUND_S) == 0
    assert job.errors() == {} and path.read_bytes() == pattern(0, 4 * SIZE)
    job.expect_nothing_left()
    assert "no journal" in job.stats.read_text() and "nowhere" in job.stats.read_text()


@pytest.mark.parametrize("program", [["python3", "-c", "print(sum(range(9)))"], ["cp", ROOT / "README.md", "copy"]])
def test_a_program_without_mpi_starts_no_agent(new_job, program):
    job = new_job("mpich")
    job.launch(program, True, {})
    assert job.wait(BOUND_S) == 0
    assert job.err == "" and job.agents() == [] and not job.stats.exists()
    assert job.out == ("36\n" if program[0] == "python3" else "")


def test_a_program_that_writes_nothing_starts_no_agent(job, tmp_path):
    job.victim(tmp_path / "data", "pieces=0")
    assert job.wait(BOUND_S) == 0
    assert job.errors() == {} and job.agents() == [] and job.sockets() == []


@pytest.mark.parametrize("setting", [("sort_buffer", "many"), ("strategy", "fast"), ("no_such", "1")])
def test_a_bad_setting_is_told_and_the_program_goes_on(job, tmp_path, setting):
    path = tmp_path / "data"
    job.victim(path, **dict([setting]))
    assert job.wait(BOUND_S) == 0
    assert job.errors() == {} and path.read_bytes() == pattern(0, SIZE)
    assert f"MILLRACE_{setting[0].upper()}" in job.err


def test_descriptors_of_millrace_are_never_those_of_standard_streams(job, tmp_path):
    """The program closes 0 and 2 before MPI_Init. Files that it opens may get these numbers, and no line meets them."""
    path = tmp_path / "data"
    closed = ["sh", "-c", 'exec "$@" 0<&- 2>&-', "sh"]
    victim = [BUILD / "bin/tests" / f"victim_{job.mpi}", path, "pieces=1024", "stop=512", f"go={job.folder / 'go'}"]
    job.start(*closed, *victim, strategy="sort")
    for pid in job.at_stop().values():
        for number in (0, 2):
            with contextlib.suppress(FileNotFoundError):
                target = os.readlink(f"/proc/{pid}/fd/{number}")
                assert "millrace" not in target and str(path) not in target, target
    assert {os.readlink(f"/proc/{job.agent()}/fd/{number}") for number in range(3)} == {"/dev/null"}
    job.go()
    assert job.wait(BOUND_S) == 0, job.err
    assert path.read_bytes() == pattern(0, SIZE)
