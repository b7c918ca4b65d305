# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Every fault of a file system x strategy, durability, way of writing and end: what stock MPI reports, Millrace reports
at the same call or earlier; what stock MPI waits for, Millrace waits for; and no success with missing bytes."""

import os
import signal
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT, STRAY_BOUND_S, eventually
from disk import _keep_mounts_private
from victim import pattern

sys.path.insert(0, str(ROOT / "tests/faultfs"))
from faultfs import fault_fs  # noqa: E402

BOUND_S = 60.0
PIECE, PIECES = 1024, 256
SIZE = 2 * PIECES * PIECE
SILENT = "has not answered"
CALLS = ("open", "write", "sync", "close")  # in the order of a program
FAULTS = {
    "none": "",
    "write fails": "write error=EIO",
    "no space": "write error=ENOSPC",
    "late no space": f"write late=ENOSPC after={SIZE // 2}",
    "late quota": "write late=EDQUOT after=0",
    "close fails": "flush error=EIO",
    "sync fails": "fsync error=EIO",
    "short writes": "write short=512",
    "slow writes": "write delay=1",
    "slow close": "flush delay=300",
    "no O_DIRECT at open": "open nodirect",
    "no O_DIRECT at a write": "write nodirect",
    "writes stall": "write stall",
    "sync stalls": "fsync stall",
    "close stalls": "flush stall",
}
BREAKS = [name for name, lines in FAULTS.items() if "error=" in lines or "late=" in lines]
STRATEGIES = ("auto", "sort", "journal")
DURABILITIES = ("server", "disk", "node")
WAYS = ("pipeline", "direct", "posix")
ENDS = ("lives", "agent", "job")


@pytest.fixture
def system(tmp_path):
    _keep_mounts_private()
    with fault_fs(tmp_path / "faultfs") as made:
        yield made


@pytest.fixture
def job(system, job):
    """Torn down before the file system: what still holds it would keep it mounted."""
    return job


def start(job, system, way, syncs, stop, preload=True, **settings):
    path, sync = system.place / "data", ["sync=1"] if syncs else []
    if way == "posix":
        program = BUILD / "bin/tests/plain"
        words = [path, PIECES, "sync" if syncs else "none", stop, job.folder / "go"]
        libraries = [f"LD_PRELOAD={BUILD / 'lib/libmillrace_posix.so'}"] if preload else []
        job.launch(["env", *libraries, program, *words], preload, {"posix_writeback": "always", **settings})
    else:
        settings["direct_above"] = "1" if way == "direct" else "16KiB"
        job.victim(path, f"pieces={PIECES}", f"stop={stop}", *sync, preload=preload, **settings)


def first(job) -> int:
    """The first call that told an error, as a place in CALLS; beyond them: none did."""
    told = [CALLS.index(call) for seen in job.errors().values() for call, _ in seen]
    return min(told, default=len(CALLS))


def stock(new_job, system, mpi, way, fault, syncs) -> int:
    job = new_job(mpi)
    system.faults(FAULTS[fault])
    start(job, system, way, syncs, -1, preload=False)
    job.wait(BOUND_S)
    system.end_faults()
    (system.folder / "data").unlink(missing_ok=True)
    return first(job)


def whole(system) -> bool:
    path = system.folder / "data"
    return path.exists() and path.read_bytes() == pattern(0, SIZE)


def settings_of(way):
    if way == "posix":
        return [("auto", "server")]
    strategies = STRATEGIES if way == "pipeline" else ("auto", "journal")
    durabilities = DURABILITIES if way == "pipeline" else ("server", "disk")
    return [(strategy, durability) for strategy in strategies for durability in durabilities]


def cases():
    for fault in FAULTS:
        for way in WAYS:
            for end in ENDS if way != "posix" else ("lives", "job"):  # a plain program has no agent
                for strategy, durability in settings_of(way):
                    # With durability node, close is answered from a journal, which keeps the bytes of a broken file.
                    if durability == "node" and (end != "lives" or fault in BREAKS):
                        continue
                    yield pytest.param(fault, way, end, strategy, durability)


@pytest.mark.parametrize(("fault", "way", "end", "strategy", "durability"), cases())
def test_matrix(job, new_job, system, fault, way, end, strategy, durability):
    syncs = "sync" in fault
    stalls = "stall" in fault
    expected = len(CALLS)
    if end == "lives" and not stalls:
        expected = stock(new_job, system, job.mpi, way, fault, syncs)
    settings = {"strategy": strategy, "durability": durability, "timeout": "1s"}
    if "O_DIRECT" in fault:
        settings["sink"] = "direct"
    if end == "lives":
        system.faults(FAULTS[fault])
    start(job, system, way, syncs, PIECES // 2 if end != "lives" else -1, **settings)
    if end != "lives":
        ranks = job.at_stop(1 if way == "posix" else 2)
        system.faults(FAULTS[fault])
        for pid in list(ranks.values()) if end == "job" else job.agents():
            os.kill(pid, signal.SIGKILL)
        job.go()
    if stalls and end == "lives":
        operation = FAULTS[fault].split()[0]
        waited = {"pipeline": lambda: SILENT in job.err or "end" in job.out}
        reached = waited.get(way, lambda: operation in {name for name, _, _ in system.asked()})
        assert eventually(reached, BOUND_S), f"{job.out}\n{job.err}"
    if stalls:
        system.end_faults()
    job.wait(BOUND_S)
    eventually(lambda: not job.agents(), STRAY_BOUND_S)
    system.end_faults()
    if end != "lives":  # journals of the dead
        subprocess.run([BUILD / "bin/millrace-recover", "--dir", job.temporary], capture_output=True, check=False)
    if end == "job":
        return  # the fixture sees that nothing is left
    if first(job) == len(CALLS):
        assert whole(system), f"success with missing bytes\n{job.out}\n{job.err}"
    if end == "lives":
        assert first(job) <= expected, f"stock tells at {CALLS[expected]}\n{job.out}\n{job.err}"
        if expected == len(CALLS) and not (fault == "sync fails" and durability != "server"):
            assert job.errors() == {}, f"stock tells nothing\n{job.out}\n{job.err}"
