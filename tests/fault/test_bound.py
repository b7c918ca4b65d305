# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What was written is in the file within a bound, whatever the program does next, and whoever is killed after that."""

import array
import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest
from conftest import eventually
from test_ledger import recover
from victim import pattern

PIECE, GAP = 1024, 1024
# The setting, and what a busy machine may take longer.
WITHIN_S, SLACK_S = 0.2, 3.0


def holds(path: Path, ranks: int, pieces: int) -> bool:
    """Whether the file has the first pieces of every rank."""
    data = path.read_bytes()
    places = [index * (PIECE + GAP) for index in range(ranks * pieces)]
    return all(data[place : place + PIECE] == pattern(place, PIECE) for place in places)


@pytest.mark.parametrize("strategy", ["auto", "immediate", "sort"])
def test_another_program_sees_what_nobody_asked_for(job, tmp_path, strategy):
    # Too little to wake the agent, and no chunk that is ever complete.
    path = tmp_path / "data"
    job.victim(path, f"gap={GAP}", "pieces=100", "stop=50", strategy=strategy, write_within="500ms")
    job.at_stop()
    assert eventually(lambda: holds(path, 2, 50), 20), path.stat().st_size
    job.go()
    assert job.wait(60) == 0 and job.errors() == {}, job.out
    assert holds(path, 2, 100)


def test_the_bound_is_five_seconds_unless_set(job, tmp_path):
    path = tmp_path / "data"
    job.victim(path, f"gap={GAP}", "pieces=100", "stop=50")
    job.at_stop()
    since = time.monotonic()
    assert eventually(lambda: holds(path, 2, 50), 30)
    assert time.monotonic() - since > 0.5, "it waits for neighbours"
    job.go()
    assert job.wait(60) == 0


class Group:
    """Processes that are killed at once: a control group where we may make one."""

    def __init__(self, name: str) -> None:
        self.folder = None
        for root in (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup")):
            folder = root / name
            with contextlib.suppress(OSError):
                folder.mkdir()
                if (folder / "cgroup.kill").exists():
                    self.folder = folder
                    return
                folder.rmdir()

    def kill(self, members: list[int]) -> None:
        if self.folder is None:
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in members:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
            return
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                (self.folder / "cgroup.procs").write_text(str(pid))
        (self.folder / "cgroup.kill").write_text("1")

    def remove(self) -> None:
        def gone() -> bool:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            return not self.folder.exists()

        if self.folder is not None:
            assert eventually(gone, 20), "the control group stays"


@pytest.fixture
def group(job):
    made = Group(job.key)
    try:
        yield made
    finally:
        made.remove()


def old_pieces(progress: Path, ranks: int, now_ns: int) -> list[int]:
    """Of each rank, how many writes returned longer ago than the bound."""
    latest_ns = now_ns - (WITHIN_S + SLACK_S) * 1e9
    counts = []
    for rank in range(ranks):
        path = Path(f"{progress}.{rank}")
        times = array.array("Q", path.read_bytes() if path.exists() else b"")
        counts.append(sum(0 < returned_ns <= latest_ns for returned_ns in times))
    return counts


@pytest.mark.parametrize("strategy", ["auto", "sort"])
@pytest.mark.parametrize("attempt", range(6 if os.environ.get("TEST_LONG") else 1))
def test_a_killed_control_group_loses_no_more_than_the_bound(job, group, tmp_path, strategy, attempt):
    path, progress = tmp_path / "data", tmp_path / "progress"
    words = [f"gap={GAP}", "pieces=100000", f"progress={progress}", "pause=2000"]
    job.victim(path, *words, strategy=strategy, write_within=f"{WITHIN_S}s")
    some = eventually(lambda: min(old_pieces(progress, 2, time.monotonic_ns())) > 50, 60)
    assert some, job.err
    time.sleep(random.uniform(0, 1))
    group.kill([*job.agents(), *job.members()])
    killed_ns = time.monotonic_ns()
    assert job.wait(60) != 0
    data = path.read_bytes()
    for rank, count in enumerate(old_pieces(progress, 2, killed_ns)):
        for index in range(count):
            place = (index * 2 + rank) * (PIECE + GAP)
            assert data[place : place + PIECE] == pattern(place, PIECE), f"rank {rank} lost piece {index}"
    # Nobody of the job could remove the file by which the killed agent showed itself.
    assert recover(job).returncode == 0
