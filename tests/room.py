# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""room.py BUILD ROOM JOBS: builds and runs what a change in src/ROOM can break, in two minutes.

These are the unit tests whose objects include a file of the room, as ninja knows it, and some seeds of the simulation.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Rooms with few unit tests, and the tests that are theirs beside these; they need the whole build.
MORE = {
    "capi": r"^(abi|capi)\.",
    "plain": r"^posix\.",
    "front/posix": r"^(abi|posix)\.",
    "front": r"^(abi|front|mpi)\.",
}
FAULTS, SIMULATION = "bin/faults_test", "bin/tests/millrace-sim"  # few seeds by the second, not many by the first
SEEDS = {1: 60, 500_000: 10, 1_000_000: 60, 2_000_000: 30, 5_000_000: 20}  # the first of each kind, and how many


def told(*words: object) -> str:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def objects_with(build: Path, room: str) -> set[str]:
    """Those that are compiled from a file of the room, or include one."""
    found, output = set(), ""
    for line in told("ninja", "-C", build, "-t", "deps").splitlines():
        if not line.startswith(" "):
            output = line.partition(":")[0]
        elif f"/src/{room}/" in line:
            found.add(output)
    return found


def select(build: Path, room: str) -> tuple[list[str], list[str]]:
    """Names of tests, and programs that are to be built for them."""
    touched, of = objects_with(build, room), {}
    pattern = next((tests for name, tests in MORE.items() if f"{room}/".startswith(f"{name}/")), "^$")
    names, programs = [], []
    for test in json.loads(told("ctest", "--test-dir", build, "--show-only=json-v1"))["tests"]:
        labels = next((one["value"] for one in test["properties"] if one["name"] == "LABELS"), [])
        program = test["command"][0].removeprefix(f"{build}/")
        if "unit" in labels and program.startswith("bin/") and program not in of:
            of[program] = set(re.findall(r" -o (\S+)", told("ninja", "-C", build, "-t", "commands", program)))
        if "long" not in labels and (touched & of.get(program, set()) or re.search(pattern, test["name"])):
            names.append(test["name"])
            programs.append(program if program in of else "all")
    return names, programs


def main(build: Path, room: str, jobs: str) -> int:
    if not (ROOT / "src" / room).is_dir():
        sys.exit(f"src/{room} is no room: docs/ARCHITECTURE.md shows them")
    told("ninja", "-C", build, "build.ninja")
    if not objects_with(build, room):  # ninja learns that when it compiles
        subprocess.run(["ninja", "-C", build, "-j", jobs], check=True)
    names, programs = select(build, room)
    seeds = SEEDS if FAULTS in programs else {}
    names = [name for name, program in zip(names, programs, strict=True) if program != FAULTS]
    wanted = sorted({SIMULATION if program == FAULTS else program for program in programs})
    subprocess.run(["ninja", "-C", build, "-j", jobs, *wanted], check=True)
    words = ["--test-dir", str(build), "--output-on-failure", "-j", jobs, "-R", f"^({'|'.join(names)})$"]
    failed = bool(names) and subprocess.run(["ctest", *words], check=False).returncode != 0
    for first, count in seeds.items():
        words = [str(build / SIMULATION), str(first), str(count)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        failed |= done.returncode != 0
        print(f"simulation: {count} seeds from {first} on: {done.stdout if done.returncode else 'good'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), *sys.argv[2:4]))
