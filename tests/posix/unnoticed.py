# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""unnoticed.py LIBRARY PROGRAM: a program without a device's driver makes the system calls that it makes anyway.

PROGRAM is careful.c: it opens a file, writes, and syncs. From the open on, both runs have to be the same, call by call.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIP = 77


def calls(program: str, preload: str) -> list[str]:
    """What the program asked of the system after it had opened its file; addresses left out."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE")}
        log = Path(folder) / "log"
        command = ["strace", "-o", str(log), *(["-E", f"LD_PRELOAD={preload}"] if preload else [])]
        command += [program, str(Path(folder) / "file"), "70000", "20"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
        if done.returncode != 0:
            print(f"strace does not work here: {done.stderr[-200:]}")
            sys.exit(SKIP)
        lines = log.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if "/file" in line and "O_CREAT" in line)
    return [re.sub(r"0x[0-9a-f]+|/\S+/file|\"(?:\\.|[^\"])*\"(\.\.\.)?", "", line) for line in lines[first:]]


def main() -> int:
    library, program = sys.argv[1:3]
    if shutil.which("strace") is None:
        print("strace is not installed")
        return SKIP
    plain, other = calls(program, ""), calls(program, library)
    for mine, theirs in zip(plain, other, strict=False):
        if mine != theirs:
            print(f"{theirs} instead of {mine}")
            return 1
    print(f"{len(other)} system calls, {len(plain)} without Millrace")
    return 0 if len(plain) == len(other) else 1


if __name__ == "__main__":
    sys.exit(main())
