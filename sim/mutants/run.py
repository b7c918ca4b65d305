# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""run.py FOLDER: runs the mutants there until the simulation, or a unit test, finds what is wrong with each; says by
which seed, or in which case. Where the seed of bugs.txt no longer shows a bug, a later one does, and is told."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import plant

SEEDS = 20_000
BOUND_S = 1800


def find(program: str, first: int) -> str | None:
    """The first seed that finds the bug, and what it says; None: no seed does."""
    command = [program, "--stop", str(first), str(SEEDS)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False)
    except subprocess.TimeoutExpired:
        return None
    if ended.returncode < 0:
        good = re.findall(r"^seed (\d+)  hash", ended.stdout, re.MULTILINE)
        seed = int(good[-1]) + 1 if good else first
        how = "does not end" if ended.returncode == -signal.SIGPROF else f"ended by signal {-ended.returncode}"
        return f"seed {seed}: {how}"
    found = re.search(r"^seed (\d+) .*BAD\n\s*(.*)", ended.stdout, re.MULTILINE)
    return f"seed {found[1]}: {found[2]}" if found else None


def find_by_test(program: str, cases: str) -> str | None:
    """The cases, if one of them fails; None: none does."""
    command = [program, f"--gtest_filter={cases}"]
    agent = {"TEST_AGENT": str(Path(program).with_name("millraced"))}  # tests of ranks run with and without it
    for more in ({}, agent):
        try:
            ended = subprocess.run(command, env=os.environ | more, capture_output=True, timeout=BOUND_S, check=False)
        except subprocess.TimeoutExpired:
            return f"{cases}: does not end"
        if ended.returncode != 0:
            return cases if ended.returncode > 0 else f"{cases}: ended by signal {-ended.returncode}"
    return None


def main() -> int:
    survivors = []
    for bug in plant.read().values():
        if bug.shown == "-":
            continue
        program = f"{sys.argv[1]}/mutant_{bug.name}"
        by_seed = bug.shown.isdigit()
        found = find(program, int(bug.shown)) if by_seed else find_by_test(program, bug.cases)
        moved = found and by_seed and not found.startswith(f"seed {bug.shown}:")
        print(f"{bug.name:32} {found or 'NOT FOUND'}{f'; bugs.txt says {bug.shown}' if moved else ''}", flush=True)
        if found is None:
            survivors.append(bug.name)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
