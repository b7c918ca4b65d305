# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""machines.py PROGRAM [SEEDS]: compares the runs of millrace-sim on other processors by hash.

QEMU emulates the other processors for one process (Debian's qemu-user). They are older models without the instructions
that libraries choose on newer ones. Exit status 77: QEMU is not installed.
"""

from __future__ import annotations

import platform
import shutil
import sys

from compilers import lines, same

MODELS = ("Nehalem", "Opteron_G5")


def main() -> int:
    program = sys.argv[1]
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    if platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None:
        print("skipped: there is no qemu-x86_64 here (Debian and Ubuntu: apt-get install qemu-user)")
        return 77
    ours = lines([program], seeds)
    elsewhere = {model: lines(["qemu-x86_64", "-cpu", model, program], seeds) for model in MODELS}
    found = [same(ours, theirs, "this processor", f"a {model}") for model, theirs in elsewhere.items()]
    return 0 if all(found) and len(ours) == seeds else 1


if __name__ == "__main__":
    sys.exit(main())
