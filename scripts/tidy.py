# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on what build/compile_commands.json compiles, without the tests. usage: tidy.py CLANG_TIDY JOBS

Files that are clean are remembered in build/tidy/KEY. KEY changes with the file, the headers of this repository that it
includes, how it is compiled, and what is checked, by which version.

Many files are compiled several times, and clang-tidy reads them as often: where it would read the same again, once is
enough. Most of its time goes into headers. So it reads files that are compiled alike together, as one file that
includes them. If such a batch is not clean, its halves are read, down to single files, because the names of two files
may collide. TIDY_BATCH=1 reads each file alone, and so also finds an include that only another file of a batch has."""

from __future__ import annotations

import concurrent.futures
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEMORY = ROOT / "build/tidy"
BATCH = int(os.environ.get("TIDY_BATCH", "8"))
INCLUDE = re.compile(rb'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
# What says nothing about what is read: warnings, where code may lie, and the macro that CMake has for each library.
SILENT = re.compile(r"-W.*|-f(PIC|PIE)|-D\w+_EXPORTS")
# What clang does not know: headers that GCC has precompiled, and the names of warnings of GCC alone.
OF_GCC = re.compile(r" -(Winvalid-pch|fpch-preprocess|include \S+cmake_pch\.hxx|Wno-(restrict|stringop-overflow))(?= )")


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


def options_of(command: str) -> list[str]:
    """How a command compiles, without compiler and cache, the source and the object."""
    words = shlex.split(command)
    words = words[next(at for at, word in enumerate(words) if word.startswith("-")) :]
    for option in ("-o", "-c"):
        at = words.index(option)
        words = words[:at] + words[at + 2 :]
    return words


def reading(command: str, file: pathlib.Path) -> tuple[tuple[str, ...], frozenset[pathlib.Path]]:
    """What makes two commands of a file differ for who only reads it: words, and which of our headers are found."""
    words = options_of(command)
    folders = [pathlib.Path(word[2:]) for word in words if word.startswith("-I")]
    read = frozenset(closure(file, folders))
    # Folders of libraries, such as an MPI, of which the file includes nothing.
    words = shlex.split(re.sub(r"-isystem *(\S+)", lambda m: m[0] if uses(read, m[1]) else "", shlex.join(words)))
    ours = [word for word in words if word.startswith("-I") and pathlib.Path(word[2:]).is_relative_to(ROOT)]
    said = tuple(word for word in words if word not in ours and not SILENT.fullmatch(word))
    return said, read


def sources(file: pathlib.Path) -> list[pathlib.Path]:
    """The files that CMake compiles as one, if `file` is what it has written for that."""
    if file.suffix != ".cxx" or not file.is_file():
        return [file]
    return [pathlib.Path(name) for name in included(file)]


def commands() -> dict[pathlib.Path, list[str]]:
    """What the build compiles, without the tests: their macros are not ours."""
    found: dict[pathlib.Path, list[str]] = {}
    for entry in json.loads((ROOT / "build/compile_commands.json").read_text()):
        for file in sources(pathlib.Path(entry["file"])):
            if not file.is_relative_to(ROOT) or file.suffix not in (".c", ".cpp") or not file.is_file():
                continue
            short = str(file.relative_to(ROOT))
            if not short.startswith(("build", "tests/")) and not short.endswith("_test.cpp"):
                found.setdefault(file, []).append(OF_GCC.sub("", entry["command"]))
    return found


def read_together(clang_tidy: str, files: list[pathlib.Path], options: list[str]) -> list[pathlib.Path]:
    """Those of the files that are not clean; says why."""
    with tempfile.NamedTemporaryFile("w", suffix=files[0].suffix, prefix="batch-", dir=MEMORY) as batch:
        batch.writelines(f'#include "{file}"  // NOLINT\n' for file in files)
        batch.flush()
        source = files[0] if len(files) == 1 else batch.name
        words = [clang_tidy, "--quiet", source, "--", *options]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    if len(files) > 1:
        half = len(files) // 2
        return [one for part in (files[:half], files[half:]) for one in read_together(clang_tidy, part, options)]
    print(f"{done.stdout}clang-tidy: {files[0]}", file=sys.stderr, flush=True)
    return files


def main(clang_tidy: str, jobs: int) -> int:
    MEMORY.mkdir(exist_ok=True)
    version = subprocess.run([clang_tidy, "--version"], capture_output=True, check=True).stdout
    keys: dict[pathlib.Path, str] = {}
    alike: dict[tuple, list[pathlib.Path]] = {}
    for file, compiled in sorted(commands().items()):
        different: dict[tuple, str] = {}
        # Of equal ones that with the most warnings: the compiler's own are looked at too.
        for command in sorted(compiled, key=lambda command: (-command.count(" -W"), command)):
            different.setdefault(reading(command, file), command)
        key = hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + version + (b"alone" if BATCH == 1 else b""))
        for (_, headers), command in different.items():
            key.update(command.encode())
            for one in sorted(headers):
                key.update(str(one).encode() + digest(one))
        keys[file] = key.hexdigest()[:32]
        if not (MEMORY / keys[file]).exists():
            for command in different.values():
                options = [word for word in options_of(command) if not re.fullmatch(r"-f(PIC|PIE)|-D\w+_EXPORTS", word)]
                alike.setdefault((file.parent, file.suffix, tuple(options)), []).append(file)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        reads = [
            pool.submit(read_together, clang_tidy, files[first : first + BATCH], list(options))
            for (_, _, options), files in sorted(alike.items(), key=lambda one: -len(one[1]))
            for first in range(0, len(files), BATCH)
        ]
        bad = set(itertools.chain.from_iterable(one.result() for one in reads))
    for file in {file for files in alike.values() for file in files} - bad:
        (MEMORY / keys[file]).touch()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
