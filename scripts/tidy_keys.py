# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Prints "KEY FILE" for each file that clang-tidy reads: KEY changes with the file, the headers of this
repository that it includes, how it is compiled, and $CHECKS (what is checked, and by which version).

Many files are compiled several times, and clang-tidy reads them as often. Where it would read the same again, once is
enough: build/tidy/compile_commands.json, which this writes, has each file once for each MPI and each set of macros."""

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
# What says nothing about what is read: warnings, where code may lie, and the macro that CMake has for each library.
SILENT = re.compile(r"-W.*|-f(PIC|PIE)|-D\w+_EXPORTS")
# What clang does not know: headers that GCC has precompiled, and the names of warnings of GCC alone.
OF_GCC = re.compile(r" -Winvalid-pch| -include \S+cmake_pch\.hxx| -Wno-(restrict|stringop-overflow)(?= )")


@functools.cache
def included(file: pathlib.Path) -> tuple[str, ...]:
    return tuple(name.decode() for name in INCLUDE.findall(file.read_bytes()))


@functools.cache
def digest(file: pathlib.Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


@functools.cache
def here(folder: str, name: str) -> bool:
    return os.path.exists(os.path.join(folder, name))


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


def uses(files: frozenset[pathlib.Path], folder: str) -> bool:
    return any(here(folder, name) for file in files for name in included(file))


def reading(command: str, file: pathlib.Path) -> tuple[tuple[str, ...], frozenset[pathlib.Path]]:
    """What makes two commands of a file differ for who only reads it: words, and which of our headers are found."""
    words = shlex.split(command)
    out = words.index("-o")
    words = words[:out] + words[out + 2 :]
    folders = [pathlib.Path(word[2:]) for word in words if word.startswith("-I")]
    read = frozenset(closure(file, folders))
    # Folders of libraries, such as an MPI, of which the file includes nothing.
    words = shlex.split(re.sub(r"-isystem *(\S+)", lambda m: m[0] if uses(read, m[1]) else "", shlex.join(words)))
    ours = [word for word in words if word.startswith("-I") and pathlib.Path(word[2:]).is_relative_to(ROOT)]
    said = tuple(word for word in words if word not in ours and not SILENT.fullmatch(word))
    return said, read


def main() -> None:
    files: dict[pathlib.Path, list[dict[str, str]]] = {}
    for entry in json.loads((ROOT / "build/compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        entry["command"] = OF_GCC.sub("", entry["command"])
        if not file.is_relative_to(ROOT) or file.suffix not in (".c", ".cpp") or not file.is_file():
            continue
        # What the build compiles, without the tests: their macros are not ours.
        short = str(file.relative_to(ROOT))
        if not short.startswith(("build", "tests/")) and not short.endswith("_test.cpp"):
            files.setdefault(file, []).append(entry)
    keys, chosen = [], []
    for file, entries in sorted(files.items()):
        different: dict[tuple, dict[str, str]] = {}
        # Of equal ones that with the most warnings: the compiler's own are looked at too.
        for entry in sorted(entries, key=lambda entry: (-entry["command"].count(" -W"), entry["command"])):
            different.setdefault(reading(entry["command"], file), entry)
        key = hashlib.sha256(os.environ.get("CHECKS", "").encode())
        for (_, headers), entry in different.items():
            key.update(entry["command"].encode())
            for one in sorted(headers):
                key.update(str(one).encode() + digest(one))
        chosen += different.values()
        keys.append(f"{key.hexdigest()[:32]} {file.relative_to(ROOT)}")
    (ROOT / "build/tidy/compile_commands.json").write_text(json.dumps(chosen, indent=1))
    print("\n".join(keys))


if __name__ == "__main__":
    main()
