# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Where journals live: on a disk, by machine, and never in silence: ADR 28."""

import os
import subprocess

import pytest
from conftest import BUILD, eventually
from test_ledger import BOUND_S, ledgers, recover
from test_order import WHOLE, leave
from victim import pattern

MILLRACE = BUILD / "bin/millrace"


def sh(script, **more):
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, timeout=BOUND_S, **more)


def test_a_host_with_another_name_is_the_same_machine(crashed, tmp_path):
    path = tmp_path / "data"
    leave(crashed, path)
    done = sh(f"unshare -u sh -c 'hostname other-name; {MILLRACE} recover --dir {crashed.temporary}'")
    if "unshare" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and path.read_bytes() == pattern(0, WHOLE), done


@pytest.mark.parametrize("words", [["recover"], ["recover", "--list"], ["drain"]], ids=" ".join)
def test_journals_of_another_machine_are_told_of(crashed, tmp_path, words):
    leave(crashed, tmp_path / "data")
    (own,) = crashed.temporary.glob("millrace-*")
    other = own.with_name(f"millrace-{os.geteuid()}-elsewhere")
    own.rename(other)
    told = subprocess.run([MILLRACE, *words, "--dir", crashed.temporary], capture_output=True, text=True, check=False)
    assert told.returncode == 1 and f"{other}: has journals of another machine" in told.stderr, told
    assert "nothing to recover" not in told.stdout and "no journals" not in told.stdout, told
    other.rename(own)  # as the line says
    assert recover(crashed).returncode == 0


def test_a_folder_that_another_user_made_first_is_told_of(crashed, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to make a folder of another user")
    leave(crashed, tmp_path / "data")
    (folder,) = crashed.temporary.glob("millrace-*")
    os.chown(folder, 12345, 12345)
    told = recover(crashed)
    os.chown(folder, 0, 0)
    assert told.returncode == 1 and "user 12345 made this folder under your name" in told.stderr, told
    assert "MILLRACE_JOURNAL_DIRECTORY" in told.stderr


def test_without_a_setting_journals_outlive_a_boot(job, tmp_path):
    """The default is not TMPDIR and not /tmp."""
    if os.geteuid() != 0:
        pytest.skip("needs root, for a /var/tmp of its own")
    if any(path.is_relative_to("/var/tmp") for path in (tmp_path, BUILD)):
        pytest.skip("the test's own files are in /var/tmp")
    own = tmp_path / "var-tmp"
    own.mkdir()
    shown = f"unshare -m sh -c 'mount --make-rprivate /; mount --bind {own} /var/tmp; exec \"$@\"' sh"
    prefix = ("sh", "-c", f'exec {shown} "$@"', "sh")
    job.victim(tmp_path / "data", "pieces=100", "stop=50", strategy="journal", journal_directory="", prefix=prefix)
    ranks = job.at_stop()
    try:
        journals = f"millrace-{os.geteuid()}-*/*.journal"
        assert eventually(lambda: list(own.glob(journals)), BOUND_S), list(own.rglob("*"))
        assert ledgers(job) == []
    finally:
        job.go()
        job.wait(BOUND_S)
    assert len(ranks) == 2
    assert eventually(lambda: not list(own.glob("*")), BOUND_S), "the agent leaves a while after its last rank"


@pytest.mark.parametrize("where", ["/tmp/some", "/dev/shm"])
@pytest.mark.parametrize("settings", [["--durability", "node"], ["--strategy", "journal"]], ids=" ".join)
def test_a_folder_that_does_not_outlive_a_boot_is_warned_of(where, settings):
    environment = {**os.environ, "MILLRACE_JOURNAL_DIRECTORY": where}
    told = subprocess.run(
        [MILLRACE, "run", *settings, "--", "true"], env=environment, capture_output=True, text=True, check=False
    )
    assert f"the folder of journals, {where}, is " in told.stderr and "not a crash of the node" in told.stderr, told
    quiet = subprocess.run(
        [MILLRACE, "run", "--", "true"], env=environment, capture_output=True, text=True, check=False
    )
    assert "journals" not in quiet.stderr, quiet
