# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Mounts the fault file system (README.md) in the mount namespace of the test."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("TEST_BUILD", Path(__file__).resolve().parents[2] / "build"))
PROGRAM = BUILD / "bin/tests/faultfs"
_BOUND_S, _TICK_S = 20.0, 0.02


class FaultFs:
    """`place` is the mount point; the bytes that arrive are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.place = folder / "folder", folder / "mounted"
        self._faults, self._record = folder / "faults", folder / "record"
        self.folder.mkdir(parents=True)
        self.place.mkdir()
        self.end_faults()
        self._process: subprocess.Popen | None = None

    def mount(self, *options: str) -> None:
        words = [PROGRAM, self.folder, self.place, self._faults, f"record={self._record}", *options]
        self._process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL)
        for _ in range(int(_BOUND_S / _TICK_S)):
            if os.path.ismount(self.place):
                return
            if self._process.poll() is not None:
                pytest.skip("this machine mounts no FUSE file system")
            time.sleep(_TICK_S)
        raise AssertionError("the fault file system does not come up")

    def unmount(self) -> None:
        self.end_faults()
        if self._process is None:
            return
        for command in (["fusermount3", "-u", "-z"], ["umount", "-l"]):
            with contextlib.suppress(OSError):
                if subprocess.run([*command, str(self.place)], capture_output=True, check=False).returncode == 0:
                    break
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_BOUND_S)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def faults(self, *lines: str) -> None:
        """From now on these are the faults."""
        new = self._faults.with_suffix(".new")
        new.write_text("".join(line + "\n" for line in lines))
        new.rename(self._faults)

    def end_faults(self) -> None:
        self.faults()

    def asked(self) -> list[tuple[str, int, str]]:
        """The operations so far: name, process, and "main" or "thread"."""
        lines = self._record.read_text().splitlines() if self._record.exists() else []
        return [(words[0], int(words[2]), words[3]) for words in (line.split() for line in lines) if len(words) == 4]


@contextlib.contextmanager
def fault_fs(folder: Path, *options: str) -> Iterator[FaultFs]:
    if not PROGRAM.exists():
        pytest.skip("libfuse 3 is not installed: the fault file system was not built")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no access to /dev/fuse")
    made = FaultFs(folder)
    made.mount(*options)
    try:
        yield made
    finally:
        made.unmount()
