# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""device.py LIBRARY PROGRAM DRIVER FIRST COUNT FAILURES FAULT: memory of a device is moved as that of the host.

DRIVER is a file that stands in for libcuda.so.1, or libcuda.so.1 itself. Then each call of the former fails once; and a
disk (FAULT) takes less than it is given: no byte is lost, doubled or leaked.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import gpu  # noqa: E402
from differential import difference, ran  # noqa: E402
from programs import MODES  # noqa: E402

STEPS = "14"


def same(place: Path, preload: dict[str, str], program: str, driver: str, seeds: range) -> int:
    wrong = 0
    for seed in seeds:
        plain = ran([program, "host", str(seed), STEPS], place / "files", dict(os.environ))
        for mode, variables in {"auto": {}, **MODES}.items():
            command = [program, driver, str(seed), STEPS]
            found = difference(plain, ran(command, place / "files", {**os.environ, **preload, **variables}))
            if found:
                wrong += 1
                print(f"seed {seed}, {mode}: {found}\n  {' '.join(command)}")
    return wrong


def failing(place: Path, preload: dict[str, str], program: str, driver: str, most: int) -> int:
    """The driver's first call fails, then the second..., until there are no more of them."""
    wrong, number, calls = 0, 0, 1 << 20
    while number < min(calls, most):
        number += 1
        environment = {**os.environ, **preload, "FAIL": str(number)}
        status, said, _ = ran([program, driver, "1", "0"], place / "files", environment)
        words = said.split(b"\n")[0].split()
        if status != 0 or len(words) != 2:
            wrong += 1
            print(f"call {number} fails: status {status}, {said.decode(errors='replace')}")
        else:
            calls = int(words[1])
    print(f"{number} calls failed, one at a time")
    return wrong


def short(place: Path, library: str, fault: str, program: str, driver: str) -> int:
    """Every write is short, every third interrupted."""
    preload = {"LD_PRELOAD": f"{library}:{fault}", "FAULT_SHORT": "1", "FAIL": str(1 << 30)}
    wrong = 0
    for variables in ({}, MODES["early"]):
        status, said, _ = ran([program, driver, "1", "0"], place / "files", {**os.environ, **preload, **variables})
        if status != 0:
            wrong += 1
            print(f"short writes, {variables}: status {status}, {said.decode(errors='replace')}")
    return wrong


def main() -> int:
    library, program, driver, first, count, most, fault = sys.argv[1:8]
    is_real = driver == gpu.DRIVER
    if is_real and gpu.absent():
        print(f"skipped: {gpu.absent()}")
        return gpu.SKIP
    preload = {"LD_PRELOAD": library}
    seeds = range(int(first), int(first) + int(count))
    with tempfile.TemporaryDirectory() as place:
        wrong = same(Path(place), preload, program, driver, seeds)
        if not is_real:
            wrong += failing(Path(place), preload, program, driver, int(most))
            wrong += short(Path(place), library, fault, program, driver)
    print(f"{count} seeds, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
