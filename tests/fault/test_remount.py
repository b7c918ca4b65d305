# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Recovery after a remount of a FUSE file system, which may number its files anew, and whose kernel forgets what it
remembered of them."""

import os

from conftest import BUILD, eventually
from fault_system import BOUND_S, PIECE
from test_ledger import kill, recover
from test_order import WHOLE, kept, leave, run_again
from victim import pattern

NO_MARKS = "setxattr error=EOPNOTSUPP"


def remount(system, *options: str) -> None:
    system.unmount()
    system.mount(*options)


def renumbered(system, path) -> None:
    before = os.stat(path).st_ino
    remount(system, "renumber=1000")
    assert os.stat(path).st_ino == before + 1000


def test_a_file_with_another_number_is_recovered_by_its_mark(crashed, system):
    path = system.place / "data"
    leave(crashed, path)
    renumbered(system, path)
    done = recover(crashed)
    assert done.returncode == 0 and path.read_bytes() == pattern(0, WHOLE), done


def test_an_open_recovers_a_file_with_another_number(crashed, new_job, system):
    path = system.place / "data"
    leave(crashed, path)
    renumbered(system, path)
    reader = run_again(new_job, crashed, path, f"read={WHOLE}")
    assert reader.wait(BOUND_S) == 0 and path.read_bytes() == pattern(0, WHOLE), reader.out + reader.err


def test_a_new_file_of_that_name_has_no_mark_and_gets_nothing(crashed, system):
    path = system.place / "data"
    leave(crashed, path)
    path.rename(system.place / "aside")
    path.write_bytes(b"newer")
    remount(system, "renumber=1000")
    refused = recover(crashed)
    assert refused.returncode == 1 and f"{path} is not the file of this journal" in refused.stderr, refused
    assert path.read_bytes() == b"newer"
    done = recover(crashed, "--target", system.place / "aside")
    assert done.returncode == 0 and (system.place / "aside").read_bytes() == pattern(0, WHOLE), done


def test_where_files_have_neither_lasting_numbers_nor_marks_recovery_asks(crashed, system):
    system.faults(NO_MARKS)
    path = system.place / "data"
    leave(crashed, path)
    renumbered(system, path)
    refused = recover(crashed)
    assert refused.returncode == 1 and "--force" in refused.stderr and path.read_bytes() == b"", refused
    assert recover(crashed, "--force").returncode == 0 and path.read_bytes() == pattern(0, WHOLE)


def test_the_agent_notes_the_state_of_a_file_whose_attributes_the_kernel_remembers(crashed, system):
    """order.c syncs, so the agent writes to the file. Then it writes newer bytes, which only the journal has."""
    remount(system, "cache=3600")
    path, go = system.place / "data", crashed.folder / "go"
    crashed.start(BUILD / "bin/tests" / f"order_{crashed.mpi}", path, go, strategy="journal", write_within="100ms")
    ranks = crashed.at_stop()
    assert os.stat(path).st_size > 0, "the agent has written"
    crashed.go("go.0")
    assert eventually(lambda: kept(crashed) >= 2 * PIECE, BOUND_S), crashed.out + crashed.err
    eventually(lambda: False, 1)  # the note follows
    kill(crashed.agent(), *ranks.values())
    crashed.wait(BOUND_S)
    assert path.read_bytes()[:PIECE] == bytes(PIECE)
    remount(system)
    done = recover(crashed)
    assert done.returncode == 0 and path.read_bytes()[:PIECE] == b"N" * PIECE, done
