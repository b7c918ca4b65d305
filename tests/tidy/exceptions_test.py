# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""No list of exceptions.py is longer than at the last release, which released.txt records.

A new entry needs one of its list to leave. A release records its lists: python3 tests/tidy/exceptions_test.py record
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import exceptions

RECORD = Path(__file__).parent / "released.txt"
ROOT = Path(__file__).resolve().parents[2]
Entries = dict[str, set[str]]  # by the name of the list


def today() -> Entries:
    lists = {name: value for name, value in vars(exceptions).items() if name.isupper()}
    return {
        name: {key if isinstance(key, str) else " ".join(key) for key in entries} for name, entries in lists.items()
    }


def entries_of(record: str) -> Entries:
    found: Entries = {}
    for line in record.splitlines():
        if line and not line.startswith("#"):
            name, entry = line.split(" ", 1)
            found.setdefault(name, set()).add(entry)
    return found


def longer(then: Entries, now: Entries) -> list[str]:
    """What is wrong with the lists of now, as text."""
    return [
        f"{name} has {len(now[name])} entries, and had {before} at the last release; new: {sorted(now[name] - old)}"
        for name in now
        if len(now[name]) > (before := len(old := then.get(name, set())))
    ]


def record() -> str:
    version = re.search(r"project\(\w+ VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    lines = [f"{name} {entry}" for name, entries in today().items() for entry in sorted(entries)]
    return "\n".join([f"# The exceptions of release {version}. Written by exceptions_test.py record.", *lines]) + "\n"


def main() -> int:
    problems = longer(entries_of(RECORD.read_text()), today())
    print("\n".join(problems) or "no list of exceptions is longer than at the last release")
    if not problems and sys.argv[1:] == ["record"]:
        RECORD.write_text(record())
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
