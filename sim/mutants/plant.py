# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""plant.py NAME OUT: writes the file of src/ that a bug of bugs.txt changes, with the bug, to OUT. plant.py: looks
whether every bug still fits its file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclass
class Bug:
    name: str
    file: str
    shown: str  # a seed, or a test program, or "-"
    cases: str  # of the test program
    right: str
    wrong: str

    def plant(self) -> str | None:
        """The file with the bug; None: it no longer has what the bug changes."""
        text = (ROOT / "src" / self.file).read_text(encoding="utf-8")
        return text.replace(self.right, self.wrong) if self.right in text else None


def read() -> dict[str, Bug]:
    bugs = {}
    for paragraph in (HERE / "bugs.txt").read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        if lines:
            name, file, shown, cases = [*lines[0].split(), ""][:4]
            right, wrong = ("\n".join(line[2:] for line in lines[1:] if line[0] == mark) for mark in "-+")
            bugs[name] = Bug(name, file, shown, cases, right, wrong)
    return bugs


def main() -> int:
    bugs = read()
    if len(sys.argv) == 3:
        Path(sys.argv[2]).write_text(bugs[sys.argv[1]].plant() or "#error the bug does not fit\n", encoding="utf-8")
        return 0
    lost = [f"{bug.name}: {bug.file} no longer has what it changes" for bug in bugs.values() if bug.plant() is None]
    print("\n".join(lost) or f"{len(bugs)} bugs fit")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
