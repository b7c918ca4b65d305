# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The shell commands of the pages run, with an MPI of this machine, and the tutorial prints what it says."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pages
import pytest

BUILD = Path(os.environ.get("MILLRACE_PREFIX", pages.ROOT / "build"))
# Names that pages use -> this distribution's names for each MPI.
TOOLS = {mpi: {name: f"{name}.{mpi}" for name in ("mpicc", "mpiexec", "mpirun")} for mpi in ("mpich", "openmpi")}
ALL = {page: pages.blocks(page) for page in pages.GUIDE}
RUNNABLE = {page: found for page, found in ALL.items() if any(b.language == "sh" and not b.needs for b in found)}


def mpi_here():
    """An MPI of this machine; skips if there is none."""
    for mpi, tools in TOOLS.items():
        if all(map(shutil.which, tools.values())):
            return mpi
    pytest.skip("no MPI is here")


class World:
    """A folder with the tools of one MPI in front of PATH."""

    def __init__(self, folder, mpi):
        self.folder = folder
        tools, home, temporary = (folder.parent / name for name in ("tools", "home", "temporary"))
        for one in (folder, tools, home, temporary):
            one.mkdir()
        for name, real in TOOLS[mpi].items():
            # No links: hydra looks for its proxy beside the name that it was called by.
            (tools / name).write_text(f'#!/bin/sh\nexec {real} "$@"\n')
            (tools / name).chmod(0o755)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE")}
        self.environment = {
            **clean,
            "PATH": f"{tools}:{BUILD / 'bin'}:{os.environ['PATH']}",
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "XDG_CACHE_HOME": str(home / "cache"),
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }

    def run(self, script):
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )

    def compile(self, text, name):
        (self.folder / f"{name}.c").write_text(text)
        done = self.run(f"mpicc -Wall -Wextra -Werror -O2 {name}.c -o {name}")
        assert done.returncode == 0, done.stdout


@pytest.fixture
def world(tmp_path):
    if not (BUILD / "bin/millrace").exists() or not (BUILD / "lib/libmillrace.so").exists():
        pytest.skip("Millrace is not built")
    made = World(tmp_path / "work", mpi_here())
    columns = next(block for block in ALL[pages.DOCS / "tutorial.md"] if block.title == "columns.c")
    made.compile(columns.text, "app")
    return made


def shape(text):
    """Text without numbers, paths, file systems and breaks of lines; of a table of two columns only the first."""
    words = [line.split("│")[1] if "│" in line else line for line in text.splitlines()]
    joined = re.sub(r"/\S+|[┌┐└┘─┬┴├┤]|\b(ext[234]|xfs|btrfs|tmpfs|overlay)\b", "", " ".join(words))
    return " ".join(re.sub(r"\d[\d.,]*(\s*([KMGT]i?B|[num]?s|B)\b(/s)?)?", "#", joined).split())


def missing(expected, printed):
    """The parts of a block, between its lines of dots, that a command has not printed in that shape."""
    parts = re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE)
    return [part for part in parts if shape(part) not in shape(printed)]


def test_a_part_that_was_not_printed_is_found():
    printed = "fast.dat: 0.5 s\n│ seeks │ 3 │\n│ error │ no │\nwritten to\n/disk at 3,000 MiB/s\n"
    assert missing("fast.dat: 12.25 s\n...\n│ error    │ none    │\nwritten to /tmp at 1 KiB/s\n", printed) == []
    assert missing("slow.dat: 0.5 s\n...\n│ jumps │ 3 │\n", printed) == ["slow.dat: 0.5 s\n", "│ jumps │ 3 │\n"]


@pytest.mark.parametrize("page", RUNNABLE, ids=pages.name_of)
def test_commands_run(page, world):
    printed = ""
    for block in RUNNABLE[page]:
        if block.language == "c" and block.is_file:
            world.compile(block.text, Path(block.title).stem)
        elif block.is_file:
            (world.folder / block.title).write_text(block.text)
        elif block.language == "sh" and not block.needs:
            done = world.run(block.text)
            printed = done.stdout
            assert done.returncode == 0, f"{block.place}\n{block.text}\n{printed}"
        elif block.title == "prints":
            assert not missing(block.text, printed), f"{block.place}\n{printed}"
