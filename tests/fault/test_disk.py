# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Disks that are full, read-only or broken."""

import re
import subprocess

import pytest
from conftest import BUILD, eventually
from disk import break_disk, freeze, remount_read_only, small_disk, thaw
from fault_system import SILENT
from test_kill import SEEN_S
from victim import pattern

MIB = 1 << 20
# Half of each block of a disk is one rank's, the other half the other's: neither's fit on a disk of 32 MiB.
PIECE, PIECES = 1024, 20 * 1024
BOUND_S = 60.0


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path) as place:
        yield place


@pytest.fixture
def job_on_disk(disk, job):
    """Torn down before the disk: what still holds it would keep it mounted."""
    return job


@pytest.mark.parametrize(
    ("strategy", "sort_buffer"),
    [("auto", "4MiB"), ("auto", "256MiB"), ("immediate", "4MiB"), ("sort", "256MiB"), ("journal", "4MiB")],
)
def test_a_full_disk_is_an_error_on_every_rank(job_on_disk, disk, strategy, sort_buffer):
    job = job_on_disk
    job.victim(disk / "data", f"pieces={PIECES}", strategy=strategy, sort_buffer=sort_buffer)
    assert job.wait(BOUND_S) == 0
    errors = job.errors()
    assert set(errors) == {0, 1}, job.out
    assert {name for seen in errors.values() for _, name in seen} == {"MPI_ERR_NO_SPACE"}, job.out
    assert "the file system is full: free some space" in job.err and str(disk / "data") in job.err


@pytest.mark.parametrize(("strategy", "sort_buffer"), [("sort", "256MiB"), ("journal", "4MiB")])
def test_a_rank_that_closed_before_the_disk_was_full_has_its_bytes_in_the_file(tmp_path, job, strategy, sort_buffer):
    with small_disk(tmp_path, block=PIECE) as disk:
        path = disk / "data"
        job.victim(path, f"pieces={PIECES}", "late=1000", strategy=strategy, sort_buffer=sort_buffer)
        assert job.wait(BOUND_S) == 0
        errors = job.errors()
        assert 1 in errors and {name for seen in errors.values() for _, name in seen} == {"MPI_ERR_NO_SPACE"}, job.out
        if 0 not in errors:
            there, expected = path.read_bytes(), pattern(0, 2 * PIECES * PIECE)
            for at in range(0, len(expected), 2 * PIECE):
                assert there[at : at + PIECE] == expected[at : at + PIECE], f"rank 0 closed well, but not {at}"
        job.expect_nothing_left()


def test_sync_tells_of_a_full_disk(job_on_disk, disk):
    job = job_on_disk
    job.victim(disk / "data", f"pieces={PIECES}", "sync=1", strategy="sort")
    assert job.wait(BOUND_S) == 0
    errors = job.errors()
    assert set(errors) == {0, 1} and all(("sync", "MPI_ERR_NO_SPACE") in seen for seen in errors.values()), job.out


def test_after_room_was_made_the_next_file_is_whole(job_on_disk, disk):
    job = job_on_disk
    job.victim(disk / "data", f"pieces={PIECES}", f"second={disk / 'second'}", sort_buffer="4MiB")
    assert job.wait(BOUND_S) == 0
    assert len(re.findall(r"second closed \d MPI_SUCCESS", job.out)) == 2, job.out
    assert "second error" not in job.out
    assert (disk / "second").read_bytes() == pattern(0, MIB)


def test_direct_writes_tell_of_a_full_disk_as_the_mpi_library_does(disk, new_job):
    for mpi in ("mpich", "ompi"):
        classes = []
        for preload in (False, True):
            job = new_job(mpi)
            job.victim(disk / "data", "pieces=20", f"piece={MIB}", preload=preload)
            assert job.wait(BOUND_S) == 0
            classes.append({name for seen in job.errors().values() for _, name in seen})
            job.expect_nothing_left()
            (disk / "data").unlink()
        assert classes[0] == classes[1], (mpi, classes)
        assert classes[1] or mpi == "ompi"  # Open MPI 4.1 says nothing


def test_a_journal_that_finds_no_room_costs_nothing_but_the_journal(job_on_disk, disk, tmp_path):
    job = job_on_disk
    path = tmp_path / "data"
    job.victim(path, f"pieces={24 * 1024}", strategy="journal", sort_buffer="1MiB", journal_directory=disk)
    assert job.wait(BOUND_S) == 0
    assert job.errors() == {}, job.out + job.err
    assert path.read_bytes() == pattern(0, 48 * MIB)


def test_a_read_only_file_system_is_refused_as_the_mpi_library_does_it(disk, new_job):
    (disk / "data").write_bytes(b"before")
    remount_read_only(disk)
    for mpi in ("mpich", "ompi"):
        seen = []
        for preload in (False, True):
            job = new_job(mpi)
            job.victim(disk / "data", preload=preload)
            assert job.wait(BOUND_S) == 0
            seen.append(job.errors())
            assert job.agents() == []
        assert seen[0] == seen[1] and set(seen[0]) == {0, 1}, (mpi, seen)
        if mpi == "mpich":
            assert seen[1][0] == [("open", "MPI_ERR_READ_ONLY")]
    assert (disk / "data").read_bytes() == b"before"


def test_a_disk_that_breaks_is_an_error_on_every_rank(job_on_disk, disk):
    job = job_on_disk
    job.victim(disk / "data", "pieces=8000", "stop=4000", "sync=1", sort_buffer="1MiB")
    job.at_stop()
    break_disk(disk)
    job.go()
    assert job.wait(SEEN_S) == 0
    errors = job.errors()
    assert set(errors) == {0, 1} and all(name == "MPI_ERR_IO" for seen in errors.values() for _, name in seen), job.out
    assert "I/O error" in job.err


def expect_a_wait_while_frozen(job, disk):
    """Freezes the disk, lets the stopped job go on, and thaws the disk: the job waits, and ends without an error."""
    freeze(disk)
    job.go()
    waits = eventually(lambda: SILENT in job.err, SEEN_S)
    eventually(lambda: False, 5)
    told = job.errors()
    thaw(disk)
    assert waits and told == {}, f"{job.out}\n{job.err}"
    assert job.wait(SEEN_S) == 0 and job.errors() == {}, f"{job.out}\n{job.err}"
    job.expect_nothing_left()


@pytest.mark.parametrize("kind", [{"strategy": "journal"}, {"durability": "node"}], ids=["journal", "node"])
@pytest.mark.parametrize("shared", [False, True], ids=["journals", "journals and file, in the middle of writes"])
def test_a_disk_of_journals_that_hangs_is_waited_for(job, tmp_path, shared, kind):
    pieces = 4096
    with small_disk(tmp_path) as disk:
        path = (disk if shared else tmp_path) / "data"
        settings = {"journal_directory": disk, "timeout": "1s", "write_within": "100ms", **kind}
        words = [f"progress={tmp_path / 'progress'}", "pause=700"] if shared else []
        job.victim(path, f"pieces={pieces}", f"stop={pieces // 2}", *words, **settings)
        job.at_stop()
        if shared:
            job.go()
            eventually(lambda: False, 0.4)
        expect_a_wait_while_frozen(job, disk)
        assert not list(disk.glob("*/*.journal"))
        assert path.read_bytes() == pattern(0, 2 * pieces * PIECE)


def test_an_agent_without_memory_waits_for_the_disk_of_its_journals(job, tmp_path):
    # The pool is full before the ledger's batches are: the agent asks the frozen disk for a file for its chunks.
    pieces = 4096
    with small_disk(tmp_path) as disk:
        path = tmp_path / "data"
        settings = {"strategy": "journal", "sort_buffer": "1MiB", "journal_directory": disk, "timeout": "1s"}
        job.victim(path, f"pieces={pieces}", "stop=1", **settings)
        job.at_stop()
        expect_a_wait_while_frozen(job, disk)
        assert path.read_bytes() == pattern(0, 2 * pieces * PIECE)


def test_a_disk_that_hangs_does_not_hold_up_files_elsewhere(job, tmp_path):
    # Three programs of one job, so of one agent. The two on the frozen disk have all of its threads wait there.
    program = BUILD / "bin/tests" / f"victim_{job.mpi}"
    words = ["pieces=4096", "sync=1", f"go={tmp_path / 'go'}"]
    settings = {"env": job.environment(True, {}), "cwd": tmp_path, "text": True, "stdout": subprocess.PIPE}
    with small_disk(tmp_path) as disk:
        stuck = []
        try:
            # One after the other: two launchers of Open MPI that make their session directory at once can fail.
            for name in ("one", "two"):
                command = [*job.launcher(1), str(program), str(disk / name), "stop=2048", *words]
                stuck.append(subprocess.Popen(command, **settings))
                assert stuck[-1].stdout.readline().startswith("at 0 "), "the program does not start"
            freeze(disk)
            (tmp_path / "go").touch()
            command = [*job.launcher(1), str(program), str(tmp_path / "elsewhere"), *words]
            done = subprocess.run(command, timeout=60, check=False, **settings)
            assert done.returncode == 0 and "closed 0 MPI_SUCCESS" in done.stdout, done.stdout
            assert all(process.poll() is None for process in stuck), "the disk was not frozen"
        finally:
            thaw(disk)
            (tmp_path / "go").touch()  # a program that has started ends also where the other has not
            outs = [process.communicate(timeout=60)[0] for process in stuck]
        assert all("closed 0 MPI_SUCCESS" in out for out in outs), outs
        for name in ("one", "two"):
            assert (disk / name).read_bytes() == pattern(0, 4096 * 1024)
        job.expect_nothing_left()
    assert (tmp_path / "elsewhere").read_bytes() == pattern(0, 4096 * 1024)
