# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Files whose bytes the agents bring to the nodes that want them: what ranks read is what the stock library reads."""

import os
import random
import signal
import time
from itertools import product

import pytest
from conftest import eventually
from jobs import LAUNCHERS, LONG, TIMEOUT_S, nodes_up, shared_folder
from millrace.stats import reader as stats
from millrace.stats import report as stats_report
from test_stage import LARGE, LONGEST, Reading, Writing, make, stock

ROUTES = ({"topology": "direct", "file_servers": 1}, {"topology": "ring", "file_servers": 2}, {"topology": "tree"})
WAYS = list(product(LAUNCHERS, ROUTES) if LONG else zip(LAUNCHERS, ROUTES, strict=False))


@pytest.fixture(scope="session")
def nodes():
    with shared_folder() as folder, nodes_up("through", 3, folder, "200mbit") as up:
        up.networks = [os.readlink(f"/proc/{node['pid']}/ns/net") for node in up.cluster.status()["nodes"]]
        yield up


def through(nodes, mpi, path, *arguments, **more):
    return Reading(nodes, mpi, path, *arguments, **{"stage": "pieces"} | more)


# These come first: an agent waits a minute for one that has died, and the end waits for all agents.
@pytest.mark.parametrize(("mpi", "node", "wait_s"), [("mpich", 0, 0), ("ompi", 1, 0), ("ompi", 0, 2)])
def test_an_agent_that_dies_meanwhile_makes_its_ranks_read_the_file(nodes, mpi, node, wait_s):
    """Before the ranks read, or while they do."""
    path = make(nodes.folder / f"killed-{mpi}-{node}-{wait_s}", LARGE)
    read = through(nodes, mpi, path, "wait", wait_s, per_node=1, file_servers=1)
    agents = read.agents()
    time.sleep(0.5)
    os.kill(agents[node], signal.SIGKILL)
    read.end()
    assert read.seen == stock(nodes, mpi, path, "wait", 0, per_node=1).seen


@pytest.mark.parametrize(("mpi", "route"), WAYS)
def test_every_way_of_reading_gives_what_the_library_gives(nodes, mpi, route):
    path = make(nodes.folder / f"ways-{mpi}-{route['topology']}")
    plain, read = stock(nodes, mpi, path), through(nodes, mpi, path, **route).end()
    assert plain.staged == ["none"] and read.staged == ["pieces"], read.job.told
    assert read.seen == plain.seen and len(plain.seen) == 6


def test_reports_tell_what_was_read_and_sent(nodes):
    path = make(nodes.folder / "told")
    read = through(nodes, "mpich", path, topology="direct", file_servers=1).end()
    read.job.expect_nothing_left()
    report = stats_report.FileReport(str(path))
    for line in map(stats.parse_line, read.job.read("stats").splitlines()):
        if line and line["path"] == report.path:
            (report.agents if line["kind"] == stats_report.AGENT_KIND else report.clients).append(line)
    facts = report.summary()
    assert report.complete() and facts["route"].startswith("read through agents")
    wanted = facts["through_bytes"] + facts["wrong_bytes"]
    # A block that gave way for another node is read again.
    assert path.stat().st_size <= facts["block_bytes"] <= wanted + path.stat().st_size
    assert path.stat().st_size <= facts["read_bytes_between_nodes"] <= wanted


def expect_nothing_told(job):
    """The agents leave as soon as they have nothing to do, and have nothing to report."""
    job.expect_nothing_left(10)
    said = [line for line in job.read("agents").splitlines() if "leaves: no rank is connected" not in line]
    assert said == [], job.told
    told = list(filter(None, map(stats.parse_line, job.read("stats").splitlines())))
    assert [line for line in told if line.get("error") or line.get("through_error")] == [], job.told
    return sum(line.get("through_bytes", 0) for line in told)


@pytest.mark.parametrize(
    ("mpi", "bytes_of_a_rank", "handles", "settings"),
    [("mpich", 200, 1, {}), ("ompi", 200_000, 2, {}), ("mpich", 2_000_000, 2, ROUTES[1])],
)
def test_a_rank_may_make_its_first_read_when_others_close(nodes, mpi, bytes_of_a_rank, handles, settings):
    """A group of ranks has one life, which all of its agents know."""
    job = nodes.job(mpi)
    job.run("late", job.folder, job.folder / "file", bytes_of_a_rank, 200, handles, stage="pieces", **settings)
    assert "end" in job.out and "FAIL" not in job.out, job.told
    assert (expect_nothing_told(job) > 0) == (bytes_of_a_rank > 200)  # a single small read stays with the library


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_what_changes_after_that_is_seen_after_a_sync(nodes, mpi):
    path, other = make(nodes.folder / f"changed-{mpi}"), make(nodes.folder / f"changed-stock-{mpi}")
    read = through(nodes, mpi, path, "changed").end()
    assert read.seen == stock(nodes, mpi, other, "changed").seen


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_writes_before_a_barrier_are_read_after_it(nodes, mpi):
    """By a rank of the same node, and of another one."""
    path, other = make(nodes.folder / f"ordered-{mpi}"), make(nodes.folder / f"ordered-stock-{mpi}")
    read = through(nodes, mpi, path, "ordered").end()
    assert read.staged == ["pieces"] and read.seen == stock(nodes, mpi, other, "ordered").seen


def test_a_node_that_is_cut_off_meanwhile_reads_the_file(nodes):
    path = make(nodes.folder / "cut", LONGEST)
    read = through(nodes, "ompi", path, "wait", 2, per_node=1, file_servers=1)
    read.agents()
    assert nodes.cluster("cut", 2).returncode == 0
    assert eventually(lambda: "lost" in read.job.read("agents"), 10 * TIMEOUT_S), read.job.told
    assert nodes.cluster("heal", 2).returncode == 0
    read.end()
    assert read.seen == stock(nodes, "ompi", path, "wait", 0, per_node=1).seen


class Pending(Reading):
    """One run of ireads.c. The file server's agent is stopped while the reads begin."""

    program = "ireads"
    READS = 6  # per rank

    def __init__(self, nodes, mpi, mode, **more):
        path = nodes.folder / f"pending-{mpi}-{mode}"
        path.write_bytes(random.Random(2).randbytes(52_000_000 if mode == "large" else 13_000_000))
        super().__init__(nodes, mpi, path, mode, stage="pieces", file_servers=1, **more)
        self.agent = self.agents()[0]
        assert self.says("ready", 6), self.job.told

    def says(self, text, times):
        return eventually(lambda: self.job.out.count(text) == times, 20)

    def begin(self):
        os.kill(self.agent, signal.SIGSTOP)
        try:
            (self.job.folder / "go").touch()
            assert self.says(f"{self.READS} reads returned before their bytes", 6), self.job.told
        finally:
            os.kill(self.agent, signal.SIGCONT)
        return self


@pytest.mark.parametrize(("mpi", "mode"), list(product(LAUNCHERS, ("wait", "close", "finalize", "large"))))
def test_non_blocking_reads_return_before_their_bytes(nodes, mpi, mode):
    Pending(nodes, mpi, mode, timeout="60s").begin().end()


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_a_read_on_its_way_whose_agent_dies_reads_the_file(nodes, mpi):
    read = Pending(nodes, mpi, "lost")
    os.kill(read.agent, signal.SIGSTOP)
    (read.job.folder / "go").touch()
    assert read.says("reads returned before their bytes", 6), read.job.told
    os.kill(read.agent, signal.SIGKILL)
    read.end()


class RandomReading(Reading):
    """One run of reads.c."""

    program = "reads"


def same_lines(mpi, count, seen):
    """`seen(mpi, stage)` is one run. With the stages "none" and "pieces" the ranks read the same in `count` cases.

    OMPIO's collective reads are wrong in a few cases (822 of those that change the file). Where a line differs from
    OMPIO's, stock MPICH decides.
    """

    def lines(mpi, stage):
        ranks = seen(mpi, stage)
        assert len(ranks) == 6 and all(text.count("\n") == count for text in ranks.values())
        return [f"{name}: {line}" for name, text in sorted(ranks.items()) for line in text.splitlines()]

    pairs = zip(lines(mpi, "pieces"), lines(mpi, "none"), strict=True)
    different = [one for one, other in pairs if one != other]
    if different and mpi == "ompi" and LAUNCHERS["mpich"]:
        assert len(different) <= 2, different
        different = sorted(set(different) - set(lines("mpich", "none")))
    assert different == []


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_random_reads_give_what_the_library_gives(nodes, mpi):
    """What one rank reads of a case is one line. A case repeats with its seed alone."""
    path, count = make(nodes.folder / f"random-{mpi}"), 1000 if LONG else 100

    def seen(mpi, stage):
        return RandomReading(nodes, mpi, path, 1, count, stage=stage).end(1200 if LONG else 120).seen

    same_lines(mpi, count, seen)


@pytest.mark.parametrize(("mpi", "settings"), [("mpich", {}), ("ompi", {}), ("mpich", {"strategy": "sort"})])
def test_random_reads_of_a_file_that_the_ranks_change(nodes, mpi, settings):
    """The file is open for reading and writing, and the writes take the library's way or the agents'."""
    count = 1000 if LONG else 60

    def seen(mpi, stage):
        path = make(nodes.folder / f"mixed-{mpi}-{stage}-{len(settings)}")
        run = RandomReading(nodes, mpi, path, 1, count, "write", stage=stage, **settings).end(1200 if LONG else 120)
        told = filter(None, map(stats.parse_line, run.job.read("stats").splitlines()))
        assert (sum(line.get("through_bytes", 0) for line in told) > 0) == (stage == "pieces")
        return run.seen

    same_lines(mpi, count, seen)


@pytest.mark.parametrize(("mpi", "topology"), [("mpich", "direct"), ("ompi", "ring")])
def test_a_file_of_one_node_is_read_from_all_of_them(nodes, mpi, topology):
    path = make(nodes.folder / f"given-{mpi}")
    assert nodes.cluster.run(0, "cp", path, f"/tmp/given-{mpi}").returncode == 0
    plain = Writing(nodes, mpi, path, "read", stage="none").end()
    first = Writing(nodes, mpi, f"/tmp/given-{mpi}", "read", target="first", stage="pieces", topology=topology).end()
    assert "read back: pieces" in first.job.out and first.seen == plain.seen, first.job.told
    differing = RandomReading(nodes, mpi, f"/tmp/given-{mpi}", 1, 20, target="first", stage="pieces", topology=topology)
    assert differing.end(120).seen == RandomReading(nodes, mpi, path, 1, 20, stage="none").end(120).seen
