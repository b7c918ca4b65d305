# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""run.py [--from=SEED] PROGRAM... PROGRAM=CASES...: runs each mutant until the simulation, or a unit test,
finds what is wrong with it; says by which seed, or in which case. --from: the first seed of the next programs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

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
    first = 1
    for program in sys.argv[1:]:
        if program.startswith("--from="):
            first = int(program.removeprefix("--from="))
            continue
        path, _, cases = program.partition("=")
        name = Path(path).name.removeprefix("mutant_").removesuffix("_test")
        found = find_by_test(path, cases) if cases else find(path, first)
        print(f"{name:32} {found or 'NOT FOUND'}", flush=True)
        if found is None:
            survivors.append(name)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
