# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""compilers.py SOURCE BUILD PROGRAM COMPILER [SEEDS]: compares the runs of millrace-sim from gcc and clang by hash.

COMPILER (GNU or Clang) has built PROGRAM, a millrace-sim. The script builds another one with the other compiler in
BUILD. Exit status 77: the other compiler is not installed.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

OTHERS = {"GNU": (("clang", "clang++"), ("clang-14", "clang++-14")), "Clang": (("gcc", "g++"),)}
BOUND_S = 1800


def build(source: str, folder: Path, c: str, cxx: str) -> Path:
    configure = ["cmake", "-G", "Ninja", "-S", source, "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release"]
    configure += [f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}", "-DMILLRACE_BENCH=OFF"]
    for command in (configure, ["cmake", "--build", str(folder), "--target", "millrace-sim"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return folder / "bin" / "tests" / "millrace-sim"


def lines(command: list[str | Path], seeds: int) -> list[str]:
    words = [*map(str, command), "1", str(seeds)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=BOUND_S, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith("seed")]


def same(ours: list[str], theirs: list[str], here: str, there: str) -> bool:
    """True if all runs are equal; prints the first runs that differ."""
    for one, two in itertools.zip_longest(ours, theirs):
        if one != two:
            print(f"{here}: {one}\n{there}: {two}")
            return False
    print(f"{len(ours)} runs, the same from {here} and {there}")
    return True


def main() -> int:
    source, folder, program, compiler = sys.argv[1:5]
    seeds = int(sys.argv[5]) if len(sys.argv) > 5 else 1000
    here = [pair for pair in OTHERS[compiler] if all(shutil.which(name) for name in pair)]
    if not here:
        print(f"skipped: there is no {OTHERS[compiler][0][1]} here")
        return 77
    c, cxx = here[0]
    other = build(source, Path(folder), c, cxx)
    ours = lines([program], seeds)
    return 0 if same(ours, lines([other], seeds), compiler, cxx) and len(ours) == seeds else 1


if __name__ == "__main__":
    sys.exit(main())
