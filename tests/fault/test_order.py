# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A journal belongs to one state of one file, and recovery writes in the order of writing: ADR 28."""

import os
import re
import signal
import subprocess
import time

import pytest
from conftest import BUILD, eventually
from disk import (
    freeze,
    lose_power,
    mount_after_power_loss,
    mount_again,
    remount_read_only,
    small_disk,
    thaw,
    turn_read_only,
)
from test_ledger import BOUND_S, LONG, kill, ledgers, millrace, recover
from victim import pattern

PIECE = 1024
PIECES = 256  # of each rank
WHOLE = 2 * PIECE * PIECES
NEWER = bytes(range(3, 203)) * 3000


def kept(job, folder=None):
    """Bytes of all records in ledgers. The size of a ledger says less: it has more than the bytes."""
    listed = millrace("recover", "--dir", folder or job.temporary, "--list")
    return sum(int(size) for size in re.findall(r"records, (\d+) bytes for", listed.stdout))


def leave(job, path, then=None, **settings):
    """Agent and ranks die with all records in the ledger, and no byte in the file. `then`: before they die."""
    words = [f"piece={PIECE}", f"pieces={PIECES + 1}", f"stop={PIECES}"]
    job.victim(path, *words, strategy="journal", write_within="100ms", **settings)
    ranks = job.at_stop()
    assert eventually(lambda: kept(job, settings.get("journal_directory")) >= WHOLE, BOUND_S), job.err
    if then:
        then()
    kill(job.agent(), *ranks.values())
    job.wait(BOUND_S)


def run_again(new_job, job, *words, program="victim", **settings):
    """Another job on that node, with the same folder of journals."""
    again = new_job(job.mpi)
    again.temporary = job.temporary
    again.start(BUILD / "bin/tests" / f"{program}_{job.mpi}", *words, **settings)
    return again


# --- one state of one file ---


@pytest.mark.parametrize("words", [["read=1"], ["pieces=0"]], ids=["to read", "to write"])
def test_an_open_does_not_bring_old_bytes_over_those_of_a_program_without_millrace(crashed, new_job, tmp_path, words):
    path = tmp_path / "data"
    leave(crashed, path)
    with path.open("r+b") as file:
        file.write(NEWER)
    opener = run_again(new_job, crashed, path, *words)
    assert opener.wait(BOUND_S) == 0
    assert path.read_bytes()[: len(NEWER)] == NEWER
    assert "was changed after the end of its agent" in opener.err, opener.err
    assert ledgers(crashed) and "changed since" in recover(crashed, "--list").stdout


def test_recovery_by_command_asks_before_it_writes_to_a_changed_file(crashed, tmp_path):
    path = tmp_path / "data"
    leave(crashed, path)
    path.write_bytes(NEWER)
    refused = recover(crashed)
    assert refused.returncode == 1 and "--force" in refused.stderr and path.read_bytes() == NEWER, refused
    assert recover(crashed, "--force").returncode == 0
    assert path.read_bytes()[:WHOLE] == pattern(0, WHOLE)


def test_what_changes_no_byte_of_the_file_is_no_change(crashed, tmp_path):
    path = tmp_path / "data"
    leave(crashed, path)
    path.chmod(0o600)
    os.link(path, tmp_path / "link")
    assert recover(crashed).returncode == 0 and path.read_bytes() == pattern(0, WHOLE)


def test_what_a_rank_saves_late_is_not_newer_than_what_a_stranger_wrote_after_the_death_of_its_agent(crashed, tmp_path):
    """After the sync there is no ledger. The ranks' rings have the only records."""
    path, go = tmp_path / "data", crashed.folder / "go"
    crashed.start(BUILD / "bin/tests" / f"order_{crashed.mpi}", path, go, strategy="journal")
    assert eventually(lambda: all(f"step 0 {rank}" in crashed.out for rank in (0, 1)), BOUND_S), crashed.err
    agent = crashed.agent()
    os.kill(agent, signal.SIGSTOP)
    crashed.go("go.0")
    assert eventually(lambda: all(f"step 1 {rank}" in crashed.out for rank in (0, 1)), BOUND_S), crashed.err
    kill(agent)
    time.sleep(6)  # recovery/recovery_target.cpp allows 5 s
    path.write_bytes(NEWER)
    for name in ("go.1", "go.2"):
        crashed.go(name)
    crashed.wait(BOUND_S)
    refused = recover(crashed)
    assert refused.returncode == 1 and "was changed after" in refused.stderr, refused
    assert path.read_bytes() == NEWER and ledgers(crashed)


def test_an_open_that_recovers_says_so(crashed, new_job, tmp_path):
    path = tmp_path / "data"
    leave(crashed, path)
    reader = run_again(new_job, crashed, path, f"read={WHOLE}")
    assert reader.wait(BOUND_S) == 0 and reader.out.count("read right") == 2, reader.out + reader.err
    assert f"{path}: recovered" in reader.err, reader.err


@pytest.mark.parametrize("how", ["command", "open"])
def test_a_file_that_was_renamed_is_recovered(crashed, new_job, tmp_path, how):
    path, renamed = tmp_path / "data.tmp", tmp_path / "data"
    leave(crashed, path, lambda: path.rename(renamed))
    if how == "command":
        done = recover(crashed)
        assert done.returncode == 0 and f"{renamed}: recovered" in done.stdout, done
    else:
        assert run_again(new_job, crashed, renamed, "read=1").wait(BOUND_S) == 0
    assert renamed.read_bytes() == pattern(0, WHOLE) and ledgers(crashed) == []


def test_a_file_in_another_folder_is_recovered_by_its_name(crashed, tmp_path):
    path, other = tmp_path / "data", tmp_path / "other" / "data"
    other.parent.mkdir()
    leave(crashed, path, lambda: path.rename(other))
    refused = recover(crashed)
    assert refused.returncode == 1 and "--target" in refused.stderr, refused
    assert recover(crashed, "--target", other).returncode == 0
    assert other.read_bytes() == pattern(0, WHOLE) and ledgers(crashed) == []


def test_a_file_system_that_is_mounted_anew_has_the_same_files(crashed, tmp_path):
    with small_disk(tmp_path, 64) as place:
        leave(crashed, place / "data")
        before = os.stat(place / "data").st_dev
        image = tmp_path / "image"
        subprocess.run(["umount", place], check=True)
        taken = subprocess.run(
            ["losetup", "-f", "--show", image], capture_output=True, text=True, check=True
        ).stdout.strip()
        try:  # the old number is another device's now
            device = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True, check=True)
            subprocess.run(["mount", device.stdout.strip(), place], check=True)
            subprocess.run(["losetup", "-d", device.stdout.strip()], check=True)  # with its umount
            assert os.stat(place / "data").st_dev != before
            done = recover(crashed)
            assert done.returncode == 0, done
            assert (place / "data").read_bytes() == pattern(0, WHOLE)
        finally:
            subprocess.run(["losetup", "-d", taken], check=True)


def test_a_folder_of_journals_that_takes_no_write_is_not_an_error_of_the_file(crashed, tmp_path):
    path = tmp_path / "data"
    with small_disk(tmp_path, 64) as place:
        leave(crashed, path, journal_directory=place)
        remount_read_only(place)
        refused = millrace("recover", "--dir", place)
        subprocess.run(["mount", "-o", "remount,rw", place], check=True)
        assert refused.returncode == 1 and f"nothing was written to {path}" in refused.stderr, refused
        assert "write the file again" not in refused.stderr, refused
        assert path.read_bytes() == b"" and millrace("recover", "--dir", place).returncode == 0
    assert path.read_bytes() == pattern(0, WHOLE)


def test_a_ledger_that_its_disk_does_not_take_back_brings_nothing_back(crashed, new_job, tmp_path):
    """The disk of the journals turns read-only while the agent writes a closed file."""
    places = [tmp_path / name for name in ("journals", "files")]
    for place in places:
        place.mkdir()
    with small_disk(places[0], 64) as journals, small_disk(places[1], 64) as files:
        path = files / "data"
        words = [path, f"piece={PIECE}", f"pieces={PIECES}"]
        settings = {"journal_directory": journals, "strategy": "sort"}
        crashed.victim(*words, f"stop={PIECES - 1}", "hold=close", durability="node", **settings)
        crashed.at_stop()
        freeze(files)
        crashed.go()
        assert eventually(lambda: crashed.out.count("closed") == 2, BOUND_S), crashed.out + crashed.err
        turn_read_only(journals)
        thaw(files)

        def opens():
            other = new_job(crashed.mpi)
            other.victim(*words, "add=1", **settings)
            assert other.wait(BOUND_S) == 0, other.err
            return other

        living = opens()
        assert set(living.errors()) == {0, 1} and living.errors()[0][0] == ("open", "MPI_ERR_FILE_IN_USE"), living.out
        assert "cannot remove it, because the disk" in living.err, living.err
        crashed.go("held")
        assert crashed.wait(BOUND_S) == 0
        assert "the journal cannot be removed" in crashed.err, crashed.err
        assert eventually(lambda: crashed.agents() == [], BOUND_S)
        dead = opens()
        assert set(dead.errors()) == {0, 1} and dead.errors()[0][0] == ("open", "MPI_ERR_FILE_IN_USE"), dead.out
        assert "cannot be marked as passed over" in dead.err and "--force" not in dead.err, dead.err
        assert eventually(lambda: living.agents() + dead.agents() == [], BOUND_S)
        mount_again(journals)
        after = opens()
        assert after.errors() == {}, after.out + after.err
        newer = bytes((byte + 1) % 256 for byte in pattern(0, WHOLE))
        assert eventually(lambda: after.agents() == [], BOUND_S) and path.read_bytes() == newer
        assert millrace("recover", "--dir", journals).returncode == 0 and path.read_bytes() == newer


def test_a_program_hears_that_its_ledger_cannot_go(crashed, tmp_path):
    """Otherwise an open after the repair of the disk would bring older bytes back over those of the last sync."""
    journals = tmp_path / "journals"
    journals.mkdir()
    with small_disk(journals, 64) as place:
        path = tmp_path / "data"
        words = [path, f"piece={PIECE}", f"pieces={PIECES}", f"stop={PIECES // 2}", "sync=1"]
        crashed.victim(*words, durability="node", journal_directory=place, strategy="sort")
        crashed.at_stop()
        assert eventually(lambda: list(place.rglob("*.journal")), BOUND_S), "a ledger"
        turn_read_only(place)
        crashed.go()
        assert crashed.wait(BOUND_S) == 0, crashed.err
        assert set(crashed.errors()) == {0, 1}, crashed.out + crashed.err
        assert all(told[0][0] in ("write", "sync") for told in crashed.errors().values()), crashed.out
        assert "the journal cannot be removed" in crashed.err, crashed.err
        assert eventually(lambda: crashed.agents() == [], BOUND_S)


# --- one order ---


def test_whoever_notices_the_death_first_the_later_write_is_the_later_one(crashed, tmp_path):
    path, go = tmp_path / "data", crashed.folder / "go"
    crashed.start(BUILD / "bin/tests" / f"order_{crashed.mpi}", path, go, strategy="journal")

    def at(step):
        return eventually(lambda: all(f"step {step} {rank}" in crashed.out for rank in (0, 1)), BOUND_S)

    assert at(0), crashed.out + crashed.err
    agent = crashed.agent()
    os.kill(agent, signal.SIGSTOP)
    crashed.go("go.0")
    assert at(1), crashed.out + crashed.err
    kill(agent)
    crashed.go("go.1")
    assert eventually(lambda: "noticed 1" in crashed.out, BOUND_S)
    crashed.go("go.2")
    crashed.wait(BOUND_S)
    recover(crashed)
    assert path.read_bytes()[:PIECE] == b"N" * PIECE, "the older bytes of rank 0 came over the newer ones of rank 1"


def test_a_rank_saves_the_ring_of_a_dead_agent_before_a_barrier(crashed, tmp_path):
    """Behind the barrier another rank may overwrite these bytes without that agent."""
    path, go = tmp_path / "data", crashed.folder / "go"
    crashed.start(BUILD / "bin/tests" / f"order_{crashed.mpi}", path, go, strategy="journal")
    assert eventually(lambda: all(f"step 0 {rank}" in crashed.out for rank in (0, 1)), BOUND_S), crashed.err
    kill(crashed.agent())
    crashed.go("go.0")
    assert crashed.wait(BOUND_S) != 0, "rank 1 wrote into the ring of the dead agent"
    recover(crashed)
    assert path.read_bytes()[:PIECE] == b"O" * PIECE


@pytest.mark.skipif(not LONG, reason="takes more than a minute")
def test_who_cannot_wait_for_a_recovery_opens_without_the_journal_for_good(crashed, new_job, tmp_path):
    """The recovery hangs at another file. The open gives up after MILLRACE_TIMEOUT and 60 s without progress."""
    path = tmp_path / "data"
    with small_disk(tmp_path, 64) as place:
        leave(crashed, place / "first")
        second = new_job(crashed.mpi)
        second.temporary = crashed.temporary
        words = [f"piece={PIECE}", f"pieces={PIECES + 1}", f"stop={PIECES}"]
        before = kept(crashed)
        second.victim(path, *words, strategy="journal", write_within="100ms")
        ranks = second.at_stop()
        assert eventually(lambda: kept(crashed) >= before + WHOLE, BOUND_S)
        kill(second.agent(), *ranks.values())
        second.wait(BOUND_S)
        freeze(place)
        command = [BUILD / "bin/millrace", "recover", "--dir", crashed.temporary]
        recovery = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert eventually(lambda: "draining" in states(crashed), BOUND_S)
            writer = run_again(new_job, crashed, path, "piece=1024", "pieces=10", timeout="1s")
            ended = writer.wait(3 * BOUND_S)
            after = path.read_bytes()
            assert ended == 0 and "passed over" in recover(crashed, "--list").stdout, writer.err
        finally:
            thaw(place)
            said = recovery.communicate(timeout=BOUND_S)
        assert path.read_bytes() == after, "recovery wrote old bytes over newer ones"
        assert recovery.returncode == 1 and str(path) in said[1], said


def states(job):
    told = [millrace("journal", path).stdout for path in ledgers(job)]
    return [line.split()[1] for text in told for line in text.splitlines() if line.startswith("state ")]


@pytest.mark.parametrize("settings", [{"durability": "node"}, {"strategy": "journal"}], ids=["node", "journal"])
def test_a_loss_of_power_does_not_bring_back_what_was_older_than_a_sync(crashed, tmp_path, settings):
    """The disk of the journals has older records by then, and lacks the newer ones."""
    path = tmp_path / "data"
    with small_disk(tmp_path) as disk:
        words = ["pieces=65", "stop=64", "add=1", "again=1", "sync=1", "hold=sync"]
        crashed.victim(path, *words, journal_directory=disk, **{"strategy": "sort", **settings})
        ranks = crashed.at_stop()
        assert eventually(lambda: kept(crashed, disk) >= 128 * PIECE, BOUND_S), crashed.err
        subprocess.run(["sync", "-f", disk], check=True)  # as the kernel does it sooner or later
        crashed.go()
        assert eventually(lambda: crashed.out.count("at ") == 6, BOUND_S), crashed.out + crashed.err
        assert crashed.errors() == {} and path.read_bytes() == pattern(0, 130 * PIECE)
        lose_power(disk)
        kill(crashed.agent(), *ranks.values())
        crashed.wait(BOUND_S)
        mount_after_power_loss(disk)
        listed = millrace("recover", "--dir", disk)
        assert path.read_bytes() == pattern(0, 130 * PIECE), listed
