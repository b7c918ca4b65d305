# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Every fault of a file system x strategy, durability, way of writing and end. An error that stock MPI tells, Millrace
tells at the same call or earlier; an error of a write, at the next sync or close at the latest. Millrace waits where
stock MPI waits. No call succeeds whose bytes are missing in the end."""

import os
import re
import signal
import subprocess
from typing import NamedTuple

import pytest
from conftest import BUILD, STRAY_BOUND_S, eventually
from fault_system import BOUND_S, PIECE, PIECES, SILENT, SIZE, whole
from victim import pattern

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
CLASSES = {"EIO": "MPI_ERR_IO", "ENOSPC": "MPI_ERR_NO_SPACE", "EDQUOT": "MPI_ERR_QUOTA"}
STRATEGIES = ("auto", "sort", "journal")
DURABILITIES = ("server", "disk", "node")
WAYS = ("pipeline", "direct", "posix")
ENDS = ("lives", "agent", "job")


def start(job, system, way, syncs, stop, preload=True, **settings):
    path, sync = system.place / "data", ["sync=1"] if syncs else []
    if way == "posix":
        program = BUILD / "bin/tests/plain"
        words = [path, PIECES, "sync" if syncs else "none", stop, job.folder / "go"]
        libraries = [f"LD_PRELOAD={BUILD / 'lib/libmillrace_posix.so'}"] if preload else []
        job.launch(["env", *libraries, program, *words], preload, settings)
    else:
        settings["direct_above"] = "1" if way == "direct" else "16KiB"
        job.victim(path, f"pieces={PIECES}", f"stop={stop}", *sync, preload=preload, **settings)


def first(job) -> int:
    """The first call that told an error, as a place in CALLS; beyond them: none did."""
    told = [CALLS.index(call) for seen in job.errors().values() for call, _ in seen]
    return min(told, default=len(CALLS))


def classes(job) -> frozenset[str]:
    return frozenset(name for seen in job.errors().values() for _, name in seen)


class Stock(NamedTuple):
    """What the MPI library does alone."""

    first: int  # the call that tells the error, as first()
    classes: frozenset[str]  # of its errors
    sound: bool  # false: it tells no error, and bytes are missing (Open MPI 4.1, after an error or a short write)


_stock: dict[tuple[str, str, str], Stock] = {}  # many cases are compared with the same run


def stock(new_job, system, mpi, way, fault) -> Stock:
    if "stall" in fault:
        return Stock(len(CALLS), frozenset(), True)  # it waits, and has no error then
    if (mpi, way, fault) not in _stock:
        _stock[mpi, way, fault] = run_stock(new_job(mpi), system, way, fault)
    return _stock[mpi, way, fault]


def run_stock(job, system, way, fault) -> Stock:
    system.faults(FAULTS[fault])
    start(job, system, way, "sync" in fault, -1, preload=False)
    job.wait(BOUND_S)
    system.end_faults()
    found = Stock(first(job), classes(job), first(job) < len(CALLS) or whole(system))
    (system.folder / "data").unlink(missing_ok=True)
    return found


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
                    yield pytest.param(fault, way, end, strategy, durability)


def written(job) -> list[int]:
    """How many pieces each rank has written, by its own word; as far as it came to say so."""
    told = {int(rank): int(pieces) for rank, pieces in re.findall(r"wrote (\d+) (\d+)", job.out)}
    return [told.get(rank, PIECES // 2) for rank in (0, 1)]


def missing(job, system) -> list[int]:
    """Offsets of pieces that a rank has written, and that are not in the file."""
    path = system.folder / "data"
    data = path.read_bytes() if path.exists() else b""
    offsets = [(2 * i + rank) * PIECE for rank, pieces in enumerate(written(job)) for i in range(pieces)]
    return [at for at in offsets if data[at : at + PIECE] != pattern(at, PIECE)]


def wait_for_stall(job, system, way, durability, operation):
    """Until the stall is felt. It may be none: a close has nothing to write after a sync."""

    def felt() -> bool:
        if "end" in job.out:
            return True
        if way == "pipeline" and durability != "node":
            return SILENT in job.err  # all ranks wait for their agent
        return operation in {name for name, _, _ in system.asked()}

    assert eventually(felt, BOUND_S), f"{job.out}\n{job.err}"


def strike(job, end, pids):
    """Kills the agent, or all ranks; the ranks that are left go on."""
    for pid in pids if end == "job" else job.agents():
        os.kill(pid, signal.SIGKILL)
    job.go()


def settle(job, system):
    """The job ends, then the faults. Journals that are left come to the file, as they do at the next open."""
    job.wait(BOUND_S)
    eventually(lambda: not job.agents(), STRAY_BOUND_S)
    system.end_faults()
    subprocess.run([BUILD / "bin/millrace-recover", "--dir", job.temporary], capture_output=True, check=False)


def expect_errors(alone, job, fault, durability):
    """Of the right class, and where the library alone tells one: at the same call or earlier."""
    said = f"stock tells at {[*CALLS, 'none'][alone.first]}\n{job.out}\n{job.err}"
    right = {CLASSES[FAULTS[fault].split("=")[1].split()[0]]} if fault in BREAKS else set()
    assert classes(job) <= right | alone.classes, said
    if fault == "close fails" and durability != "server":
        return  # everything is synced: nothing is left that close could write
    if alone.first < len(CALLS) and durability != "node":  # a close that the journal answers has lost nothing
        behind = CALLS.index("close") if CALLS[alone.first] == "write" else alone.first
        assert first(job) <= behind, said


@pytest.mark.parametrize(("fault", "way", "end", "strategy", "durability"), list(cases()))
def test_matrix(job, new_job, system, fault, way, end, strategy, durability):
    syncs, stalls = "sync" in fault, "stall" in fault
    settings = {"strategy": strategy, "durability": durability, "timeout": "1s"}
    if "O_DIRECT" in fault:
        settings["sink"] = "direct"
    alone = stock(new_job, system, job.mpi, way, fault)
    if end == "lives":
        system.faults(FAULTS[fault])
    start(job, system, way, syncs, PIECES // 2 if end != "lives" else -1, **settings)
    if end != "lives":
        ranks = job.at_stop(1 if way == "posix" else 2)
        system.faults(FAULTS[fault])
        strike(job, end, ranks.values())
    if stalls:
        if end == "lives":
            wait_for_stall(job, system, way, durability, FAULTS[fault].split()[0])
        system.end_faults()
    settle(job, system)
    said = f"{job.out}\n{job.err}"
    if end == "lives":
        expect_errors(alone, job, fault, durability)
    library_alone = way == "direct" and not alone.sound  # it writes these bytes itself
    if end != "job" and first(job) == len(CALLS) and not library_alone:
        assert whole(system), f"success with missing bytes\n{said}"
    # Ranks that were killed leave their bytes to the agent, and an agent that was killed leaves its journal.
    if (end == "job" and fault not in BREAKS) or (end == "agent" and strategy == "journal"):
        assert missing(job, system) == [], f"a write returned, and its bytes are missing\n{said}"
