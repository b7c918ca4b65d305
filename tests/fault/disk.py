# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Small ext4 disks, loop-mounted, for tests that fill or break them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
SHUTDOWN_NO_LOG_FLUSH = 2


def _run(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


@contextlib.contextmanager
def small_disk(folder: Path, mebibytes: int = 32) -> Iterator[Path]:
    """A mounted disk of that size; unmounted and removed whatever happens in between."""
    if os.geteuid() != 0:
        pytest.skip("mounting a disk needs root")
    image, place = folder / "image", folder / "disk"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(mebibytes << 20)
    made = _run("mkfs.ext4", "-q", "-F", "-m", "0", image)
    if made.returncode != 0:
        pytest.skip(f"no mkfs.ext4: {made.stderr.strip()}")
    try:
        mounted = _run("mount", "-o", "loop", image, place)
        if mounted.returncode != 0:
            pytest.skip(f"a loop device or a mount is not allowed here: {mounted.stderr.strip()}")
        yield place
        # The test is over: who still holds the disk is a leak.
        done = _run("umount", place)
        assert done.returncode == 0, done.stderr
    finally:
        if os.path.ismount(place):
            _run("umount", "--lazy", place)
        image.unlink(missing_ok=True)


def remount_read_only(place: Path) -> None:
    done = _run("mount", "-o", "remount,ro", place)
    assert done.returncode == 0, done.stderr


def break_disk(place: Path) -> None:
    """Every further access to the disk fails with EIO, as if it had been pulled out."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, struct.pack("I", SHUTDOWN_NO_LOG_FLUSH))
    finally:
        os.close(descriptor)
