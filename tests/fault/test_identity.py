# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A journal is written to the very file that it was made for, or to none: an inode number that comes back is another
file."""

import os
import subprocess

import pytest
from conftest import BUILD
from test_kill import PIECE, PIECES, SEEN_S, STOP
from test_ledger import BOUND_S, kill, ledgers, millrace, recover

SLOW_DISK = BUILD / "bin/bench/slow-disk"
OTHER = bytes(range(7, 107)) * 5000
TRIES = 2000


@pytest.fixture
def numbers_only(tmp_path):
    """A folder of a FUSE file system that tells no birth time and takes no mark; its handles do not last."""
    if not SLOW_DISK.exists() or not os.access("/dev/fuse", os.W_OK):
        pytest.skip("slow-disk is not built (libfuse 3), or /dev/fuse may not be used")
    kept, seen = tmp_path / "kept", tmp_path / "seen"
    kept.mkdir()
    seen.mkdir()
    rates = ["1000000000", "0", "0"]  # fast
    mounted = subprocess.run([SLOW_DISK, *rates, kept, seen], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"slow-disk cannot be mounted: {mounted.stderr.strip()}")
    try:
        yield seen
    finally:
        subprocess.run(["umount", "--lazy", seen], check=True)


def leave_a_journal(job, path):
    """Agent and ranks die with records in the ledger; the file's inode number."""
    words = [f"piece={PIECE}", f"pieces={PIECES}", f"stop={STOP}"]
    job.victim(path, *words, strategy="journal")
    ranks = job.at_stop()
    kill(job.agent(), *ranks.values())
    job.wait(SEEN_S)
    told = recover(job, "--list")
    assert told.returncode == 0 and f"for {path} (there" in told.stdout, told
    return os.stat(path).st_ino


def remake(path, number):
    """The file is removed, and another one of its name gets its inode number."""
    aside = path.parent / "aside"
    aside.mkdir()
    path.unlink()
    for i in range(TRIES):
        path.write_bytes(OTHER)
        if os.stat(path).st_ino == number:
            return
        path.rename(aside / str(i))
    pytest.skip(f"this file system did not use inode number {number} again for {TRIES} new files")


def test_recovery_writes_nothing_into_a_new_file_with_the_old_number(crashed, tmp_path):
    path = tmp_path / "data"
    remake(path, leave_a_journal(crashed, path))
    refused = recover(crashed)
    assert path.read_bytes() == OTHER, "old records came into the new file"
    assert refused.returncode == 1 and f"{path} is not the file of this journal" in refused.stderr, refused
    assert ledgers(crashed) and "--discard" in refused.stderr
    forced = recover(crashed, "--force")
    assert forced.returncode == 0 and path.read_bytes() != OTHER, forced


@pytest.mark.parametrize("words", [["pieces=0"], ["read=1024"]], ids=["to write", "to read"])
def test_the_next_open_writes_nothing_into_it(crashed, new_job, tmp_path, words):
    path = tmp_path / "data"
    remake(path, leave_a_journal(crashed, path))
    left = ledgers(crashed)
    opener = new_job(crashed.mpi)
    opener.temporary = crashed.temporary
    opener.start(BUILD / "bin/tests" / f"victim_{crashed.mpi}", path, *words, strategy="journal")
    opener.wait(BOUND_S)
    assert opener.errors() == {}, opener.out + opener.err
    assert path.read_bytes() == OTHER, "old records came into the new file"
    assert ledgers(crashed) == left and "bytes that were written before a crash" not in opener.err


def test_where_a_file_system_tells_numbers_only_nothing_is_written_unasked(crashed, new_job, numbers_only):
    path = numbers_only / "data"
    leave_a_journal(crashed, path)
    before = path.read_bytes()
    refused = recover(crashed)
    assert refused.returncode == 1 and f"{path} may be another file" in refused.stderr, refused
    assert "--force" in refused.stderr and "--discard" in refused.stderr
    assert "(there, may be another file); dead" in recover(crashed, "--list").stdout
    opener = new_job(crashed.mpi)
    opener.temporary = crashed.temporary
    opener.start(BUILD / "bin/tests" / f"victim_{crashed.mpi}", path, "pieces=0")
    assert opener.wait(BOUND_S) == 0 and "bytes that were written before a crash" in opener.err, opener.err
    assert path.read_bytes() == before
    assert "passed over" in recover(crashed, "--list").stdout
    assert recover(crashed, "--force").returncode == 0 and path.read_bytes() != before


def test_a_journal_whose_file_is_gone_can_be_listed_and_discarded(crashed, tmp_path):
    path = tmp_path / "data"
    leave_a_journal(crashed, path)
    path.unlink()
    refused = recover(crashed)
    assert refused.returncode == 1 and "--discard" in refused.stderr, refused
    listed = recover(crashed, "--list")
    lines = listed.stdout.splitlines()
    assert listed.returncode == 0 and len(lines) == len(ledgers(crashed)), listed
    assert all(f"for {path} (gone); dead" in line for line in lines), listed
    assert recover(crashed, "--discard").returncode == 2
    other = tmp_path / "other.journal"
    other.write_bytes(b"mine")
    assert recover(crashed, "--discard", other).returncode == 1 and other.exists()
    done = recover(crashed, "--discard", *ledgers(crashed))
    assert done.returncode == 0 and "discarded" in done.stdout and str(path) in done.stdout, done
    assert ledgers(crashed) == [] and recover(crashed).returncode == 0
    assert millrace("recover", "--dir", crashed.temporary, "--list").stdout.startswith("no journals in")
