# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Every file of the repository follows the rules."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import exceptions
import picture
import rules
import type_names

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = {".git", ".venv", ".ruff_cache", "__pycache__", ".pytest_cache"}


def files() -> list[str]:
    """Tracked and new files; where there is no git, everything but what is built."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = sorted(set(listed.stdout.splitlines()))
    else:
        names = []
        for folder, folders, contents in os.walk(ROOT):
            folders[:] = [d for d in folders if d not in SKIPPED and not d.startswith("build")]
            names += [os.path.relpath(os.path.join(folder, name), ROOT) for name in contents]
    return [name for name in names if (ROOT / name).is_file()]


def main() -> int:
    names = files()
    problems = [f"{room}: no README.md" for room in rules.rooms_without_readme(names)]
    texts = {}
    for name in names:
        try:
            texts[name] = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue  # pictures
        problems += rules.check(name, texts[name])
    problems += type_names.problems(texts, exceptions.SAME_NAMES)
    problems += [
        f"exceptions.py: {path} drops no result" for path in exceptions.DROPPED_RESULTS if path not in rules.used
    ]
    if picture.FILE.read_text() != picture.draw():
        problems.append(f"{picture.FILE.relative_to(ROOT)} is stale: python3 tests/tidy/picture.py")
    print("\n".join(problems) or f"{len(texts)} files follow the rules")
    if len(texts) < 20:
        print("too few files were found to mean anything")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
