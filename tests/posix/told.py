# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""told.py LIBRARY: with MILLRACE_STATS, each close of a plain file adds a line; without it, nothing is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MIB = 1 << 20
# Two files in a row, each synced: the second one goes to the disk early.
SYNCED = """
import os, sys
for name in sys.argv[1:]:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644)
    for _ in range(8):
        os.write(fd, b"x" * (1 << 20))
    os.fsync(fd)
    os.close(fd)
"""
LEFT_OPEN = """
import os, sys
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644), b"x" * (1 << 20))
"""
SMALL = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
for _ in range(1000):
    os.write(fd, b"x" * 1000)
os.close(fd)
"""
FORKED = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
os.write(fd, b"x" * (1 << 20))
if os.fork() == 0:
    os.write(fd, b"x" * (2 << 20))
    os.close(fd)
    sys.exit(0)
os.wait()
os.close(fd)
"""
STREAM = ["dd", "if=/dev/zero", "bs=1M", "count=4"]


class Job:
    """Runs a program under the library, with reports."""

    def __init__(self, library: str, folder: Path):
        self.library, self.folder = library, folder

    def lines(self, command: list[str], stats: str = "stats", **settings: str) -> list[dict]:
        target = self.folder / stats
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE")}
        environment = {**kept, "LD_PRELOAD": self.library, "MILLRACE_STATS": str(target)}
        environment |= {f"MILLRACE_{name.upper()}": value for name, value in settings.items()}
        subprocess.run(command, env=environment, check=True, timeout=100, stderr=subprocess.DEVNULL)
        files = sorted(target.glob("*.jsonl")) if target.is_dir() else [target]
        found = [json.loads(line) for file in files if file.exists() for line in file.read_text().splitlines()]
        for file in files:
            file.unlink(missing_ok=True)
        return found

    def file(self, name: str) -> str:
        return str(self.folder / name)


def python(text: str, *files: str) -> list[str]:
    return [sys.executable, "-S", "-c", text, *files]


def check(job: Job) -> None:
    a, b = job.file("a"), job.file('b "quoted" \u00e4')
    first, second = job.lines(python(SYNCED, a, b))
    assert (first["path"], second["path"]) == (a, b) and first["kind"] == "plain"
    assert first["bytes"] == second["bytes"] == 8 * MIB, (first, second)
    assert first["early_bytes"] == 0 and "had not synced" in first["reason"]
    assert second["early_bytes"] == 8 * MIB and second["reason"] == "early writeback: the program syncs its files"

    _, early = job.lines(["env", "TEST_SYNCED=1", *STREAM, f"of={job.file('s')}"])
    assert early["bytes"] == 4 * MIB and early["early_bytes"] == 4 * MIB

    (behind,) = job.lines(python(SMALL, job.file("c.async")), posix_async="*.async")
    assert behind["behind_bytes"] == 1_000_000 and "posix_async" in behind["reason"]
    assert job.lines(python(SMALL, job.file("small"))) == [], "small writes are left alone"

    (left,) = job.lines(python(LEFT_OPEN, job.file("left")))
    assert left["bytes"] == MIB, "a file that stays open is reported at exit"
    sizes = sorted(line["bytes"] for line in job.lines(python(FORKED, job.file("forked"))))
    assert sizes == [MIB, 2 * MIB], "parent and child report their own bytes"

    (job.folder / "nodes").mkdir()
    (line,) = job.lines(python(LEFT_OPEN, job.file("left")), stats="nodes")
    assert line["bytes"] == MIB, "a folder has a file for each node"


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        check(Job(sys.argv[1], Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
