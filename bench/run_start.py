#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What `millrace run` adds to the start of a program: `true` with it and without, in turns.

    bench/run_start.py [--millrace build/bin/millrace] [--turns 41] [--program true]

Prints one JSON document: medians in milliseconds from the start to the end of the process, and processor time (with
that of all that it starts), which other load disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def once(command: list[str], null: int) -> tuple[float, float]:
    """Milliseconds of wall clock and of processors."""
    begin = time.perf_counter()
    actions = [(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, null, 2)]
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    _, status, used = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"run_start: {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return (time.perf_counter() - begin) * 1e3, (used.ru_utime + used.ru_stime) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millrace", default=str(ROOT / "build/bin/millrace"))
    parser.add_argument("--turns", type=int, default=41)
    parser.add_argument("--program", default="true")
    options = parser.parse_args()
    commands = {"stock": [options.program], "millrace": [options.millrace, "run", options.program]}
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    null = os.open(os.devnull, os.O_WRONLY)
    for turn in range(options.turns + 1):
        for name, command in commands.items():
            sample = once(command, null)
            if turn:  # the first fills caches
                samples[name].append(sample)
    results = {
        name: {"ms": statistics.median(w for w, _ in found), "cpu_ms": statistics.median(c for _, c in found)}
        for name, found in samples.items()
    }
    results["added"] = {kind: results["millrace"][kind] - results["stock"][kind] for kind in ("ms", "cpu_ms")}
    rounded = {name: {kind: round(value, 2) for kind, value in one.items()} for name, one in results.items()}
    print(json.dumps({"schema": "millrace-start", "version": 1, "turns": options.turns, **rounded}, indent=1))


if __name__ == "__main__":
    main()
