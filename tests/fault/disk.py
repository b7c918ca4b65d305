# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Small ext4 disks, loop-mounted, for tests that fill or break them, and file systems that are mounted anew."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

EXT4_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
SHUTDOWN_NO_LOG_FLUSH = 2


_CLONE_NEWNS = 0x00020000
_MS_REC, _MS_PRIVATE = 1 << 14, 1 << 18


@functools.cache
def keep_mounts_private() -> None:
    """From now on mounts are this process's and its children's alone: they go with it, even if it is killed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) == 0:
        libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None)


def _run(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


@contextlib.contextmanager
def small_disk(folder: Path, mebibytes: int = 32, block: int = 4096) -> Iterator[Path]:
    """A mounted disk of that size, used in blocks of `block` bytes; unmounted and removed whatever happens in between,
    seen by this process alone."""
    if os.geteuid() != 0:
        pytest.skip("mounting a disk needs root")
    keep_mounts_private()
    image, place = folder / "image", folder / "disk"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(mebibytes << 20)
    made = _run("mkfs.ext4", "-q", "-F", "-m", "0", "-b", block, image)
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
            thaw(place)
            _run("umount", "--lazy", place)
        image.unlink(missing_ok=True)


@contextlib.contextmanager
def overlay(folder: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A mounted overlay, and a function that mounts it anew: it gets another device number, and what has files of it
    open keeps the old one."""
    if os.geteuid() != 0:
        pytest.skip("mounting an overlay needs root")
    keep_mounts_private()
    base, place = folder / "base", folder / "overlay"
    lower, upper, work = (base / name for name in ("lower", "upper", "work"))
    base.mkdir()
    place.mkdir()

    def mount() -> None:
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        mounted = _run("mount", "-t", "overlay", "overlay", "-o", options, place)
        if mounted.returncode != 0:
            pytest.skip(f"no overlay can be mounted here: {mounted.stderr.strip()}")

    def mount_anew() -> None:
        assert _run("umount", "--lazy", place).returncode == 0
        mount()

    # The folder of the test may be on an overlay, which cannot hold another one's upper folder.
    assert _run("mount", "-t", "tmpfs", "tmpfs", base).returncode == 0
    try:
        for each in (lower, upper, work):
            each.mkdir()
        mount()
        yield place, mount_anew
    finally:
        for each in (place, base):
            if os.path.ismount(each):
                _run("umount", "--lazy", each)


def freeze(place: Path) -> None:
    """Whoever writes to the disk waits until it thaws."""
    done = _run("fsfreeze", "--freeze", place)
    if done.returncode != 0:
        pytest.skip(f"a disk cannot be frozen here: {done.stderr.strip()}")


def thaw(place: Path) -> None:
    _run("fsfreeze", "--unfreeze", place)


def remount_read_only(place: Path) -> None:
    done = _run("mount", "-o", "remount,ro", place)
    assert done.returncode == 0, done.stderr


def turn_read_only(place: Path) -> None:
    """As a kernel does that finds an error on the disk: what is open for writing can write no more."""
    mounts = map(str.split, Path("/proc/self/mounts").read_text().splitlines())
    (device,) = (words[0] for words in mounts if words[1] == str(place))
    done = _run("mount", "-o", "remount,errors=remount-ro", place)
    assert done.returncode == 0, done.stderr
    trigger = Path("/sys/fs/ext4") / Path(device).name / "trigger_fs_error"
    if not trigger.exists():
        pytest.skip("this kernel cannot be told that a disk has an error")
    trigger.write_text("a test")


def lose_power(place: Path) -> None:
    """Keeps what the disk has at this moment, without the caches."""
    image = place.parent / "image"
    done = _run("cp", "--sparse=never", image, image.with_name("lost"))
    assert done.returncode == 0, done.stderr


def mount_after_power_loss(place: Path) -> None:
    """Nobody may hold the disk. It has what it had at lose_power()."""
    image = place.parent / "image"
    for command in (
        ("umount", place),
        ("mv", image.with_name("lost"), image),
        ("mount", "-o", "loop", image, place),
    ):
        done = _run(*command)
        assert done.returncode == 0, done.stderr


def mount_again(place: Path) -> None:
    for command in (("umount", place), ("mount", "-o", "loop", place.parent / "image", place)):
        done = _run(*command)
        assert done.returncode == 0, done.stderr


def break_disk(place: Path) -> None:
    """Every further access to the disk fails with EIO, as if it had been pulled out."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, EXT4_IOC_SHUTDOWN, struct.pack("I", SHUTDOWN_NO_LOG_FLUSH))
    finally:
        os.close(descriptor)
