# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""machines.py PROGRAM [SEEDS]: the same runs of millrace-sim on other machines, hash by hash.

The other machines are processors as QEMU plays them for one process (Debian's qemu-user): older models, without the
instructions that this one's libraries choose, and another page of time. Exit status 77 where there is no QEMU.
"""

from __future__ import annotations

import itertools
import platform
import shutil
import subprocess
import sys

MODELS = ("Nehalem", "Opteron_G5")
BOUND_S = 1800


def lines(command: list[str], seeds: int) -> list[str]:
    done = subprocess.run([*command, "1", str(seeds)], capture_output=True, text=True, timeout=BOUND_S, check=False)
    return [line for line in done.stdout.splitlines() if line.startswith("seed")]


def main() -> int:
    program = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    if platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None:
        print("skipped: there is no qemu-x86_64 here (Debian and Ubuntu: apt-get install qemu-user)")
        return 77
    ours = lines([program], seeds)
    for model in MODELS:
        theirs = lines(["qemu-x86_64", "-cpu", model, program], seeds)
        for one, two in itertools.zip_longest(ours, theirs):
            if one != two:
                print(f"here: {one}\n{model}: {two}")
                return 1
        print(f"{len(ours)} runs, the same on this processor and on a {model}")
    return 0 if len(ours) == seeds else 1


if __name__ == "__main__":
    sys.exit(main())
