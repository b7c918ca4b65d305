# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""File systems that are slow, stalled or refuse, by the fault file system."""

from __future__ import annotations

import os
import signal

import pytest
from conftest import BUILD, eventually
from fault_system import BOUND_S, PIECE, PIECES, SILENT, SIZE, whole
from victim import pattern

LATE = f"write late=ENOSPC after={SIZE // 2}"


def writes(job, system, *words, **settings) -> None:
    job.victim(system.place / "data", f"pieces={PIECES}", *words, **settings)


# --- errors ---


@pytest.mark.parametrize("strategy", ["auto", "sort", "journal"])
def test_an_error_that_close_tells_is_the_error_of_MPI_File_close(job, system, strategy):
    system.faults(LATE)
    writes(job, system, strategy=strategy)
    assert job.wait(BOUND_S) == 0
    assert ("close", "MPI_ERR_NO_SPACE") in sum(job.errors().values(), []), job.out
    assert {call for seen in job.errors().values() for call, _ in seen} == {"close"}, job.out
    assert not whole(system) and "No space left on device" in job.err


def test_an_error_that_is_told_once_is_not_lost_while_the_agent_closes_a_ranks_descriptor(job, system):
    """That close takes long, and bytes are lost meanwhile. Only a close(2) with an owner may hear of it."""
    slow_s = 1.0
    system.faults(f"idle_flush delay={1000 * slow_s:.0f}", "write late=ENOSPC after=0")
    within = f"{3000 * slow_s:.0f}ms"  # the agent writes after half of it
    writes(job, system, "hold=write", strategy="sort", durability="disk", write_within=within)
    job.at_stop()
    agent = job.agent()
    assert eventually(lambda: ("write", agent, "thread") in system.asked(), BOUND_S), system.asked()
    eventually(lambda: False, 2 * slow_s)
    job.go("held")
    assert job.wait(BOUND_S) == 0
    assert {name for seen in job.errors().values() for _, name in seen} == {"MPI_ERR_NO_SPACE"}, job.out
    assert sorted(job.errors()) == [0, 1] and not whole(system), job.out


def test_a_file_system_that_cannot_sync_folders_is_no_error_and_one_that_fails_is(job, system):
    system.faults("fsyncdir error=EINVAL")
    writes(job, system, strategy="sort", durability="disk")
    assert job.wait(BOUND_S) == 0 and job.errors() == {} and whole(system), job.out
    system.faults("fsyncdir error=EIO")
    writes(job, system, strategy="sort", durability="disk")
    assert job.wait(BOUND_S) == 0
    assert job.errors() == {0: [("close", "MPI_ERR_IO")]}, job.out


@pytest.mark.parametrize("fault", ["open nodirect", "write nodirect"])
@pytest.mark.parametrize("sink", ["auto", "direct"])
def test_direct_writes_that_are_refused_go_through_the_page_cache(job, system, fault, sink):
    system.faults(fault)
    many = 16 << 10
    job.victim(system.place / "data", f"pieces={many}", "sync=1", strategy="sort", sink=sink)
    assert job.wait(BOUND_S) == 0 and job.errors() == {}, job.out
    assert (system.folder / "data").read_bytes() == pattern(0, 2 * many * PIECE)


def test_a_write_that_moves_nothing_or_is_told_to_come_again_is_an_error_and_no_loop(job, system):
    for fault in ("write short=0", "write error=EAGAIN"):
        system.faults(fault)
        writes(job, system, strategy="sort")
        assert job.wait(BOUND_S) == 0
        assert {name for seen in job.errors().values() for _, name in seen} == {"MPI_ERR_IO"}, f"{fault}\n{job.out}"


# --- waits ---


@pytest.mark.parametrize("operation", ["write", "fsync", "flush"])
@pytest.mark.parametrize("strategy", ["auto", "sort"])
def test_a_file_system_that_stalls_is_waited_for(job, system, operation, strategy):
    system.faults(f"{operation} stall")
    writes(job, system, *(["sync=1"] if operation == "fsync" else []), strategy=strategy, timeout="600ms")
    assert eventually(lambda: SILENT in job.err, BOUND_S), job.err
    assert f"{system.place / 'data'}: the file system (fuse.faultfs faultfs) {SILENT}" in job.err
    assert job.err.count(SILENT) == 1, "one line"
    system.end_faults()
    assert job.wait(BOUND_S) == 0 and job.errors() == {} and whole(system), f"{job.out}\n{job.err}"


def test_a_file_system_that_never_answers_is_an_error_after_the_bound(job, system):
    # All ranks have opened the file by then: an open waits in the kernel for the agent's write.
    writes(job, system, f"stop={PIECES // 2}", strategy="sort", timeout="500ms", storage_timeout="1s")
    job.at_stop()
    system.faults("write stall")
    job.go()
    assert eventually(lambda: len(job.errors()) == 2, BOUND_S), f"{job.out}\n{job.err}"
    assert "MILLRACE_STORAGE_TIMEOUT" in job.err
    system.end_faults()
    assert job.wait(BOUND_S) == 0


def test_a_close_that_takes_long_holds_up_no_other_file(job, new_job, system):
    system.faults("flush stall")
    writes(job, system, ranks=1, strategy="sort", timeout="1s")
    agent = job.agent()
    assert eventually(lambda: ("flush", agent, "thread") in system.asked(), BOUND_S), system.asked()
    other = new_job(job.mpi)
    other.key = job.key
    other.victim(other.folder / "data", f"pieces={PIECES}", "sync=1", ranks=1, strategy="sort", timeout="1s")
    assert eventually(lambda: "closed 0" in other.out, BOUND_S), f"{other.out}\n{other.err}"
    assert other.errors() == {} and "closed" not in job.out
    system.end_faults()
    assert job.wait(BOUND_S) == 0 and job.errors() == {}, job.out
    assert other.wait(BOUND_S) == 0


@pytest.mark.parametrize("what", ["read", "write"])
def test_an_agent_that_does_not_answer_is_not_taken_for_none(job, what):
    path = job.folder / "data"
    job.start(BUILD / "bin/tests" / f"silent_{job.mpi}", path, job.folder / "go", what, strategy="sort", timeout="1s")
    job.at_stop(1)
    agent = job.agent()
    os.kill(agent, signal.SIGSTOP)
    job.go()
    assert eventually(lambda: f"{what} failed" in job.out, BOUND_S), f"{job.out}\n{job.err}"
    os.kill(agent, signal.SIGCONT)
    job.wait(BOUND_S)
    job.expect_nothing_left()  # a close may have given up before the agent went on
    assert path.read_bytes()[:1] == b"N"


# --- the agent's loop ---


@pytest.mark.parametrize("strategy", ["auto", "sort", "journal"])
@pytest.mark.parametrize(("durability", "sink"), [("server", "direct"), ("disk", "buffered")])
def test_the_agents_loop_makes_no_call_that_can_wait_for_the_file_system(job, system, strategy, durability, sink):
    writes(job, system, f"stop={PIECES // 2}", "sync=1", strategy=strategy, durability=durability, sink=sink)
    job.at_stop()
    agent = job.agent()
    job.go()
    assert job.wait(BOUND_S) == 0 and job.errors() == {} and whole(system), job.out
    job.expect_nothing_left()
    asked = {(name, thread) for name, process, thread in system.asked() if process == agent}
    assert {("write", "thread"), ("fsync", "thread"), ("idle_flush", "thread")} <= asked, asked
    assert [name for name, thread in asked if thread == "main"] == []


def test_the_agents_loop_does_not_wait_for_the_disk_of_its_ledgers(job, system):
    """It writes only the state of a ledger, into the page cache."""
    words = [job.folder / "data", f"pieces={PIECES}", f"stop={PIECES // 2}"]
    job.victim(*words, strategy="sort", durability="node", journal_directory=system.place)
    job.at_stop()
    agent = job.agent()
    job.go()
    assert job.wait(BOUND_S) == 0 and job.errors() == {}, job.out
    job.expect_nothing_left()
    asked = [(name, thread) for name, process, thread in system.asked() if process == agent]
    assert {("open", "thread"), ("write", "thread"), ("fsync", "thread"), ("fsyncdir", "thread")} <= set(asked), asked
    by_threads = [i for i, (_, thread) in enumerate(asked) if thread == "thread"]
    # Before and behind these, the agent starts and ends. The kernel asks for an attribute before it writes.
    meanwhile = asked[by_threads[0] : by_threads[-1]]
    assert {name for name, thread in meanwhile if thread == "main"} <= {"write", "getxattr"}, asked
