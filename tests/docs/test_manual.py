# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Manual pages are fresh and sound, and both shells complete."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pages
import pytest

COMPLETIONS = pages.ROOT / "share/completions"
MANUALS = sorted((pages.ROOT / "share/man").glob("man*/*"))


@pytest.fixture
def environment(tmp_path):
    """A `millrace` of this tree in PATH."""
    program = tmp_path / "bin/millrace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m millrace "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(pages.ROOT / "python"), "HOME": str(tmp_path), "TERM": "dumb"}


def test_manual_pages_and_the_reference_of_commands_are_fresh():
    done = subprocess.run(
        [sys.executable, pages.ROOT / "scripts/manual.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("page", MANUALS, ids=lambda page: page.name)
def test_man_has_no_warning(page):
    if not shutil.which("man") or not shutil.which("groff"):
        pytest.skip("no man here")
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    name = page.name.rsplit(".", 1)[0]
    assert f"{name} - " in " ".join(done.stdout.split())


def words_in_bash(environment, *words):
    script = f"""source {COMPLETIONS}/millrace.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_millrace millrace
printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], capture_output=True, text=True, env=environment, check=True
    )
    return sorted(set(done.stdout.split()))


def test_bash_completes_commands_options_and_values(environment):
    assert words_in_bash(environment, "millrace", "re") == ["recover"]
    assert words_in_bash(environment, "millrace", "cluster", "e") == ["env", "exec"]
    assert words_in_bash(environment, "millrace", "run", "--st") == [
        "--stage",
        "--stats",
        "--storage-timeout",
        "--strategy",
    ]
    assert words_in_bash(environment, "millrace", "run", "--strategy", "") == ["auto", "immediate", "journal", "sort"]


def test_bash_completes_the_users_command_behind_two_dashes(environment):
    program = Path(environment["PATH"].split(":")[0]) / "mpiexec.for-this-test"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert words_in_bash(environment, "millrace", "run", "--", "mpiexec.for-th") == ["mpiexec.for-this-test"]


def typed_in_zsh(environment, keys, wanted):
    """What a terminal shows after these keys, until it shows `wanted`, or for 20 seconds."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
    try:
        start = f"PS1=; fpath=({COMPLETIONS} $fpath); autoload -Uz compinit; compinit -u -D; clear; {keys}"
        os.write(terminal, start.replace("; ", "\n").encode())
        shown, until = "", time.monotonic() + 20
        while wanted not in shown and time.monotonic() < until:
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 4096).decode(errors="replace")
        return shown
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [("millrace run --strategy jou\t", "--strategy journal"), ("millrace run -- mpiexec.for-th\t", "for-this-test")],
)
def test_zsh_completes(environment, keys, wanted):
    if not shutil.which("zsh"):
        pytest.skip("no zsh here")
    program = Path(environment["PATH"].split(":")[0]) / "mpiexec.for-this-test"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert wanted in typed_in_zsh(environment, keys, wanted)
