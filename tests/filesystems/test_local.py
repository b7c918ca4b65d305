# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Random programs (tests/mpi/differential) on file systems of one machine, with and without Millrace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TEST_BUILD", ROOT / "build"))
LAUNCHERS = {mpi: path for mpi in ("mpich", "ompi") if (path := os.environ.get(f"TEST_MPIEXEC_{mpi.upper()}"))}
CASES = 40
MAKERS = {"btrfs": ["mkfs.btrfs", "-q"], "xfs": ["mkfs.xfs", "-q"], "ext4": ["mke2fs", "-q", "-F", "-t", "ext4"]}


def do(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{words[0]}: {(done.stderr or done.stdout).strip()}")


def mount(held: ExitStack, place: Path, *words: object) -> Path:
    place.mkdir()
    do("mount", *words, place)
    held.callback(subprocess.run, ["umount", "--lazy", str(place)], check=False)
    return place


def on_a_disk(held: ExitStack, folder: Path, kind: str) -> Path:
    if shutil.which(MAKERS[kind][0]) is None:
        pytest.skip(f"{MAKERS[kind][0]} is not installed")
    disk = folder / "disk"
    with disk.open("wb") as file:
        file.truncate(1 << 30)
    do(*MAKERS[kind], disk)
    return mount(held, folder / "mounted", "-o", "loop", disk)


@pytest.fixture(params=["btrfs", "xfs", "tmpfs", "overlay"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system of this kind."""
    kind = request.param
    with ExitStack() as held:
        if kind == "tmpfs":
            yield mount(held, tmp_path / "mounted", "-t", "tmpfs", "-o", "size=1g", "none")
        elif kind == "overlay":
            below = on_a_disk(held, tmp_path, "ext4")
            for name in ("lower", "upper", "work"):
                (below / name).mkdir()
            options = f"lowerdir={below}/lower,upperdir={below}/upper,workdir={below}/work"
            yield mount(held, tmp_path / "over", "-t", "overlay", "-o", options, "none")
        else:
            yield on_a_disk(held, tmp_path, kind)


@pytest.mark.parametrize("mpi", LAUNCHERS)
def test_random_programs_write_the_same_bytes(place: Path, mpi: str) -> None:
    words = [sys.executable, ROOT / "tests/mpi/differential/differential.py", "--mpi", mpi]
    words += ["--launcher", LAUNCHERS[mpi], "--program", BUILD / f"bin/differential_{mpi}"]
    words += ["--preload", BUILD / "lib/libmillrace.so", "--folder", place, "--cases", CASES]
    if mpi == "mpich":
        words += ["--shim", BUILD / "lib/libmillrace-bench-finalize.so"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
