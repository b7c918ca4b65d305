# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/README.md, the map of all tests, from a build's list: `tests/map.py BUILD > tests/README.md`.

`tests/map.py BUILD --costs > tests/costs.txt` writes what each suite costs, by what ctest has measured in this build.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The first word of a test's name -> its kind.
KINDS = {
    "abi": "symbols",
    "agent": "differential",
    "base": "unit",
    "bench": "programs that measure",
    "capi": "unit",
    "cli": "command",
    "client": "unit",
    "clients": "differential",
    "cluster": "virtual cluster",
    "differential": "differential, random",
    "docs": "documents",
    "evaluate": "command",
    "fault": "faults in real programs",
    "filesystems": "real file systems",
    "fortran": "differential",
    "front": "unit",
    "install": "installation",
    "model": "command",
    "mpi": "differential",
    "posix": "differential",
    "python": "unit",
    "sim": "simulation",
    "tidy": "rules of the tree",
    "unit": "unit",
}
HEAD = """\
# The tests

All tests by suite. `tests/map.py` writes this page from the list of tests and costs.txt: seconds on a machine with two
cores, those of one test after the other, in `make test` and of what only `make test-long` has.

| tests | kind | what they are about | folder | s | long, s |
| --- | --- | --- | --- | --- | --- |
"""
TAIL = """
A *differential* test runs one program with the stock MPI library and with Millrace, and compares bytes, statuses and
errors. A *unit* test lies beside its source. The *simulation* runs agents, ranks, disks and networks in virtual time.

| to | type |
| --- | --- |
| run all, or the long ones (the weekly job, `.ci/weekly`) | `make test`, `make test-long` |
| run all with both MPIs, most of which `make test` takes in turn by commit | `make test MPIS=both` |
| run what a change in a folder of src/ can break | `make test ROOM=agent` |
| run one suite, or one test | `ctest --test-dir build -R '^fault'`, `ctest --test-dir build -V -R '^mpi.rows.mpich$'` |
| run one case of a unit test | `build/bin/client_test --gtest_filter='Ways.*'` |
| run one case of a virtual cluster, as root | `tests/cluster/run.py test_open.py -k EXPRESSION` |
| repeat a seed of the simulation, with its trace | `build/bin/tests/millrace-sim --trace SEED` |
| plant a bug and look for it | `ninja -C build mutant_NAME`, `build/bin/mutant_NAME --stop FIRST COUNT` |
| use the sanitizers, the fuzzers | `make test-asan`, `make test-tsan`, `make fuzz` |

sim/mutants/bugs.txt has planted bugs, each with a seed or a test that shows it, and sim/found.txt seeds that have found
bugs. A random test prints its seed, and takes it as an argument.
"""


def first_sentence(folder: str) -> str:
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    paragraph = text.split("\n\n")[1].replace("\n", " ").removeprefix("One job: ")
    paragraph = re.sub(r" \([^)]*\)", "", paragraph)
    sentence = re.match(r".*?[.:](?= |$)", paragraph)
    found = (sentence[0] if sentence else paragraph).rstrip(".:")
    return found[0].upper() + found[1:]


def tests_of(build: Path) -> dict[str, dict]:
    """The properties of each test, by its name."""
    listed = subprocess.run(
        ["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True, check=True
    )
    tests = json.loads(listed.stdout)["tests"]
    return {test["name"]: {one["name"]: one["value"] for one in test["properties"]} for test in tests}


def costs(build: Path) -> str:
    """Rows of costs.txt: a suite, the seconds of its tests, and those of its long tests. A test in turn is one."""
    measured = (build / "Testing/Temporary/CTestCostData.txt").read_text(encoding="utf-8").split("---")[0]
    seconds = {name: float(cost) for name, _, cost in map(str.split, measured.splitlines())}
    sums: dict[str, list[float]] = {}
    for name, properties in tests_of(build).items():
        labels = properties.get("LABELS", [])
        share = 0.5 if {"turn-0", "turn-1"} & set(labels) else 1
        kind = int(bool({"long", "filesystems"} & set(labels)))
        sums.setdefault(name.split(".")[0], [0, 0])[kind] += share * seconds.get(name, 0)
    return "".join(f"{suite} {usual:.0f} {more:.0f}\n" for suite, (usual, more) in sorted(sums.items()))


def page(build: Path) -> str:
    folders: dict[str, set[str]] = {}
    for name, properties in tests_of(build).items():
        where = Path(properties["WORKING_DIRECTORY"]).relative_to(build)
        folders.setdefault(name.split(".")[0], set()).add(str(where))
    lines = (ROOT / "tests/costs.txt").read_text(encoding="utf-8").splitlines()
    measured = {line.split()[0]: line.split()[1:] for line in lines}
    rows = []
    for suite, places in sorted(folders.items()):
        folder = min(places, key=len)
        about = "The rooms of src, sim and cmd, each beside its source" if suite == "unit" else first_sentence(folder)
        shown = "src, sim, cmd" if suite == "unit" else f"[{folder}](../{folder}/README.md)"
        cost = " | ".join("" if one == "0" else one for one in measured.get(suite, ("", "")))
        rows.append(f"| `{suite}.*` | {KINDS[suite]} | {about} | {shown} | {cost} |\n")
    return HEAD + "".join(rows) + TAIL


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.stdout.write((costs if "--costs" in sys.argv else page)(Path(sys.argv[1]).resolve()))
