# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""differential.py LIBRARY PROGRAM FIRST COUNT [ARGUMENTS...]: random file operations do the same with the preload.

Each seed runs without Millrace, and with it in each mode; what the program printed, how it ended and every file have to
be the same. A seed that differs is printed with the command that repeats it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import MODES


def ran(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, bytes, dict[str, bytes]]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, timeout=400, stdin=subprocess.DEVNULL, check=False
    )
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    return done.returncode, done.stdout + done.stderr, files


def difference(plain: tuple, other: tuple) -> str:
    if plain[0] != other[0]:
        return f"status {other[0]} instead of {plain[0]}: {other[1][-300:]!r}"
    for mine, theirs in zip(plain[1].split(b"\n"), other[1].split(b"\n"), strict=False):
        if mine != theirs:
            return f"{theirs!r} instead of {mine!r}"
    names = sorted(name for name in plain[2].keys() | other[2].keys() if plain[2].get(name) != other[2].get(name))
    return f"other contents: {', '.join(names)}" if names or plain[1] != other[1] else ""


def main() -> int:
    library, program, first, count, *arguments = sys.argv[1:]
    wrong = 0
    base = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE")}
    with tempfile.TemporaryDirectory() as place:
        for seed in range(int(first), int(first) + int(count)):
            command = [program, str(seed), *arguments]
            plain = ran(command, Path(place) / "files", base)
            for mode, variables in MODES.items():
                other = ran(command, Path(place) / "files", {**base, **variables, "LD_PRELOAD": library})
                found = difference(plain, other)
                if found:
                    wrong += 1
                    settings = " ".join(f"{name}='{value}'" for name, value in variables.items())
                    print(f"seed {seed}, {mode}: {found}\n  {settings} LD_PRELOAD={library} {' '.join(command)}")
    print(f"{count} seeds in {len(MODES)} modes, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
