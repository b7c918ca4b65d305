# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Prints "KEY FILE" for each file that clang-tidy reads: KEY changes with the file, the headers of this
repository that it includes, how it is compiled, and $CHECKS (what is checked, and by which version)."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(rb'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


@functools.cache
def included(file: pathlib.Path) -> tuple[str, ...]:
    return tuple(name.decode() for name in INCLUDE.findall(file.read_bytes()))


@functools.cache
def digest(file: pathlib.Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


def closure(file: pathlib.Path, folders: list[pathlib.Path]) -> set[pathlib.Path]:
    found, ahead = set(), [file]
    while ahead:
        one = ahead.pop()
        if one in found:
            continue
        found.add(one)
        for name in included(one):
            places = (folder / name for folder in [one.parent, *folders])
            ahead += [place for place in places if place.is_relative_to(ROOT) and place.is_file()][:1]
    return found


def main() -> None:
    entries = {
        entry["file"]: entry["command"] for entry in json.loads((ROOT / "build/compile_commands.json").read_text())
    }
    for name, command in sorted(entries.items()):
        file = pathlib.Path(name)
        if not file.is_relative_to(ROOT) or file.suffix not in (".c", ".cpp") or not file.is_file():
            continue
        # What the build compiles, without the tests: their macros are not ours.
        short = str(file.relative_to(ROOT))
        if short.startswith(("build", "tests/")) or short.endswith("_test.cpp"):
            continue
        words = shlex.split(command)
        folders = [pathlib.Path(word[2:]) for word in words if word.startswith("-I")]
        key = hashlib.sha256((os.environ.get("CHECKS", "") + command).encode())
        for one in sorted(closure(file, folders)):
            key.update(str(one).encode() + digest(one))
        print(key.hexdigest()[:32], short)


if __name__ == "__main__":
    main()
