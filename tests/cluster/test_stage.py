# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are staged: every way of reading gives what the stock library gives, and nothing is left behind."""

import contextlib
import os
import random
import signal
import time
from itertools import cycle, product

import pytest
from conftest import BUILD, eventually
from jobs import LAUNCHERS, LONG, TIMEOUT_S, nodes_up, port_of, shared_folder

SIZE = 5_000_003
LARGE = 64 << 20  # two seconds and more on the links
LONGEST = 4 * LARGE  # so that a command to the cluster is in time
INSTEAD = "is read where it is, not copied to every node"


@pytest.fixture(scope="session")
def nodes():
    with shared_folder() as folder, nodes_up("stage", 3, folder, "200mbit") as up:
        up.networks = [os.readlink(f"/proc/{node['pid']}/ns/net") for node in up.cluster.status()["nodes"]]
        yield up


def make(path, size=SIZE, seed=1):
    path.write_bytes(random.Random(seed).randbytes(min(size, SIZE)))
    os.truncate(path, size)
    return path


class Reading:
    """One run of stage.c and what its ranks saw."""

    program = "stage"

    def __init__(self, nodes, mpi, path, *arguments, per_node=2, **settings):
        self.job = nodes.job(mpi, per_node=per_node)
        self.copies = self.job.folder / "copies"
        self.copies.mkdir()
        settings = {"stage": "whole", "temporary": self.copies, "timeout": f"{TIMEOUT_S}s"} | settings
        self.job.start(self.program, self.job.folder, path, *arguments, **settings)

    def end(self, bound_s=60):
        assert self.job.wait(bound_s) == 0, self.job.told
        assert "FAIL" not in self.job.out and "end" in self.job.out, self.job.told
        assert list(self.copies.iterdir()) == []
        return self

    def agents(self):
        """By node, while the file is on its way: all nodes have one."""

        def look():
            found = {}
            for pid, name in self.job.processes().items():
                if name == "millraced" and port_of(pid):  # not what starts one
                    with contextlib.suppress(OSError):
                        found[self.job.nodes.networks.index(os.readlink(f"/proc/{pid}/ns/net"))] = pid
            return found

        assert eventually(lambda: len(look()) == 3, 60), self.job.told
        return look()

    @property
    def staged(self):
        return [line.split()[1] for line in self.job.out.splitlines() if line.startswith("staged")]

    @property
    def seen(self):
        return {path.name: path.read_text() for path in self.job.folder.glob("reads-*")}


def stock(nodes, mpi, path, *arguments, **more):
    return Reading(nodes, mpi, path, *arguments, stage="none", **more).end()


# These come first: an agent waits a minute for one that has died, and the end waits for all agents.
@pytest.mark.parametrize(("mpi", "node"), [("mpich", 0), ("ompi", 1), ("mpich", 2)])
def test_an_agent_that_dies_meanwhile_makes_all_read_where_the_file_is(nodes, mpi, node):
    path = make(nodes.folder / f"killed-{mpi}-{node}", LARGE)
    read = Reading(nodes, mpi, path, "wait", 0, per_node=1)
    os.kill(read.agents()[node], signal.SIGKILL)
    read.end()
    assert read.staged == ["none"] and read.job.read("err").count(INSTEAD) == 1, read.job.told
    assert read.seen == stock(nodes, mpi, path, "wait", 0, per_node=1).seen


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_every_way_of_reading_gives_what_the_library_gives(nodes, mpi):
    path = make(nodes.folder / f"ways-{mpi}")
    plain, staged = stock(nodes, mpi, path), Reading(nodes, mpi, path).end()
    assert plain.staged == ["none"] and staged.staged == ["whole"], staged.job.told
    assert staged.seen == plain.seen and len(plain.seen) == 6


def test_what_changes_after_that_is_seen_after_a_sync(nodes):
    path = make(nodes.folder / "changed")
    staged = Reading(nodes, "mpich", path, "changed").end()
    assert staged.staged == ["whole"] and "then none" in staged.job.out
    other = make(nodes.folder / "changed-stock")
    assert staged.seen == stock(nodes, "mpich", other, "changed").seen


def test_a_node_without_room_makes_all_read_where_the_file_is(nodes):
    path = make(nodes.folder / "room")
    for node in range(3):
        assert nodes.cluster.run(node, "mkdir", "-p", "/tmp/copies").returncode == 0
    small = nodes.cluster.run(1, "mount", "-t", "tmpfs", "-o", "size=4m", "none", "/tmp/copies")
    assert small.returncode == 0, small.stderr
    read = Reading(nodes, "ompi", path, temporary="/tmp/copies").end()
    assert read.staged == ["none"] and read.seen == stock(nodes, "ompi", path).seen
    assert read.job.read("err").count(INSTEAD) == 1 and "rank 2 has too little room" in read.job.read("err")
    for node in range(3):
        assert nodes.cluster.run(node, "ls", "/tmp/copies").stdout == ""


def test_a_node_that_is_cut_off_meanwhile_makes_all_read_where_the_file_is(nodes):
    path = make(nodes.folder / "cut", LONGEST)
    read = Reading(nodes, "ompi", path, "wait", 0, per_node=1)
    read.agents()
    nodes.cluster.change("cut", 2)
    assert eventually(lambda: "lost" in read.job.read("agents"), 10 * TIMEOUT_S), read.job.told
    nodes.cluster.change("heal", 2)
    read.end()
    assert read.staged == ["none"], read.job.told
    assert read.seen == stock(nodes, "ompi", path, "wait", 0, per_node=1).seen


@pytest.mark.skipif(not (BUILD / "bin/bench/slow-disk").exists(), reason="slow-disk is not built: no libfuse 3")
def test_auto_copies_what_nodes_have_read_whole_before():
    """A file system of FUSE is one that asks another machine, as far as a rank can tell."""
    with shared_folder() as folder:
        mount = folder / "mount"
        mount.mkdir()
        slow = ("--slow", mount, "--disk-rate", "4GiB/s", "--read-rate", "none", "--seek-time", "0ms")

        def told(read):
            """All but shared pointers: MPICH's lie in a file, and these mounts do not see each other's writes."""
            return {name: [x for x in text.splitlines() if "read_shared" not in x] for name, text in read.seen.items()}

        with nodes_up("auto", 2, folder, "1gbit", *slow) as up:
            large, small = make(mount / "large"), make(mount / "small", 1_000_003)
            read = Reading(up, "mpich", large, "again", 3, stage="auto").end()
            assert read.staged == ["pieces", "whole", "whole"], read.job.told
            assert told(read) == told(stock(up, "mpich", large, "again", 3))
            assert Reading(up, "mpich", small, "again", 3, stage="auto").end().staged == ["none"] * 3
            local = make(folder / "local")
            assert Reading(up, "mpich", local, "again", 3, stage="auto").end().staged == ["none"] * 3


def test_a_copy_has_no_name_while_it_is_used(nodes):
    path = make(nodes.folder / "killed")
    read = Reading(nodes, "mpich", path, "wait", 60)
    assert eventually(lambda: read.staged == ["whole"], 20), read.job.told
    assert list(read.copies.iterdir()) == []
    read.job.end()
    read.job.expect_nothing_left()
    assert list(read.copies.iterdir()) == []


class Own(Reading):
    """One run of own.c."""

    program = "own"


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_a_process_reads_what_it_has_written_by_a_handle_opened_after_a_copy(nodes, mpi):
    path, name = make(nodes.folder / f"own-{mpi}"), nodes.folder / f"own-name-{mpi}"
    os.link(path, name)
    own = Own(nodes, mpi, path, "after", name).end()
    assert own.staged == ["whole", "none"], own.job.told


def mixed(some, others):
    """Every pair when there is time, else each one of `some` with one of `others`."""
    return list(product(some, others) if LONG else zip(some, cycle(others), strict=False))


@pytest.mark.parametrize(("stage", "target"), mixed(["whole", "pieces", "none"], ["shared", "first"]))
@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_a_file_that_is_open_for_writing_is_not_copied(nodes, mpi, target, stage):
    path = nodes.folder / f"own-before-{mpi}-{target}-{stage}"
    own = Own(nodes, mpi, path, "before", target=target, stage=stage).end()
    assert "whole" not in own.staged, own.job.told


@pytest.mark.parametrize(("who", "strategy"), mixed([-1, 0, 1, 5], ["sort", "auto"]))
@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_ranks_that_have_a_file_alone_open_it_together_with_target_first(nodes, mpi, strategy, who):
    path = nodes.folder / f"self-{mpi}-{strategy}-{who}"
    own = Own(nodes, mpi, path, "self", who, target="first", strategy=strategy).end()
    assert "was not opened" not in own.job.read("err"), own.job.told


def test_a_file_of_one_node_that_a_rank_has_alone_is_refused_with_that_reason(nodes):
    own = Own(nodes, "mpich", "/tmp/self", "self", 1, target="first", strategy="sort")
    assert own.job.wait(60) != 0, own.job.told
    assert "without ranks of other nodes (MPI_COMM_SELF)" in own.job.read("err"), own.job.told


class Writing(Reading):
    """One run of first.c; `path` is a file of node 0 with target=first, of all nodes without."""

    program = "first"

    def __init__(self, nodes, mpi, path, *arguments, **settings):
        super().__init__(nodes, mpi, path, *arguments, **{"stage": "auto"} | settings)


TOPOLOGIES = ("direct", "ring")
WAYS = list(product(LAUNCHERS, TOPOLOGIES) if LONG else zip(LAUNCHERS, TOPOLOGIES, strict=True))


@pytest.mark.parametrize(("mpi", "topology"), WAYS)
def test_a_file_of_one_node_is_written_and_read_from_all_of_them(nodes, mpi, topology):
    everywhere, there = nodes.folder / f"written-{mpi}-{topology}", f"/tmp/written-{mpi}-{topology}"
    plain = Writing(nodes, mpi, everywhere, file_servers=0).end()
    stage = {"direct": "auto", "ring": "none"}[topology]
    first = Writing(nodes, mpi, there, "limits", target="first", topology=topology, stage=stage).end()
    assert "read back: " + ("none" if stage == "none" else "whole") in first.job.out
    fetched = nodes.folder / f"fetched-{mpi}-{topology}"
    assert nodes.cluster.run(0, "cp", there, fetched).returncode == 0
    assert fetched.read_bytes() == everywhere.read_bytes()
    assert first.seen == plain.seen and len(plain.seen) == 6
    for node in (1, 2):
        assert nodes.cluster.run(node, "ls", there).returncode != 0


def test_a_file_that_may_only_be_read_is_fetched_where_it_is_not_staged(nodes):
    path = make(nodes.folder / "given")
    for command in ("mkdir -p /tmp/given", "mount -t tmpfs none /tmp/given", f"cp {path} /tmp/given/file"):
        assert nodes.cluster.run(0, *command.split()).returncode == 0
    assert nodes.cluster.run(0, *"mount -o remount,ro /tmp/given".split()).returncode == 0
    plain = Writing(nodes, "mpich", path, "read", stage="none").end()
    for mpi in LAUNCHERS:
        first = Writing(nodes, mpi, "/tmp/given/file", "read", target="first", stage="none").end()
        assert "read back: none" in first.job.out and first.seen == plain.seen, first.job.told


@pytest.mark.parametrize(("mpi", "topology", "node"), [("mpich", "direct", 0), ("ompi", "ring", 1)])
def test_reads_fail_when_the_way_to_the_file_is_lost(nodes, mpi, topology, node):
    there = f"/tmp/lost-{mpi}"
    read = Writing(nodes, mpi, there, "wait", per_node=1, target="first", topology=topology)
    assert eventually(lambda: read.job.out.count("reads") == 3, 20), read.job.told
    os.kill(read.agents()[node], signal.SIGKILL)
    started = time.monotonic()
    assert eventually(lambda: "rank 2 read failed" in read.job.out, 3 * TIMEOUT_S), read.job.told
    if node == 0:
        assert eventually(lambda: "rank 1 read failed" in read.job.out, 3 * TIMEOUT_S), read.job.told
    assert time.monotonic() - started < 3 * TIMEOUT_S
    read.job.end()


def test_a_full_disk_of_the_one_node_is_told_to_all(nodes):
    assert nodes.cluster.run(0, "mkdir", "-p", "/tmp/small").returncode == 0
    assert nodes.cluster.run(0, "mount", "-t", "tmpfs", "-o", "size=4m", "none", "/tmp/small").returncode == 0
    job = Writing(nodes, "mpich", "/tmp/small/file", "space", target="first").end()
    assert [f"rank {rank} no space 1" in job.job.out for rank in range(6)] == [True] * 6, job.job.told


@pytest.mark.parametrize(
    ("mpi", "settings"),
    [("mpich", {"strategy": "journal"}), ("ompi", {"durability": "node"})],
    ids=["mpich journal", "ompi node"],
)
def test_a_ledger_that_its_node_could_not_recover_is_refused(nodes, mpi, settings):
    """The ledgers of other nodes would be for stand-ins."""
    there = f"/tmp/refused-{mpi}"
    job = Writing(nodes, mpi, there, target="first", **settings).job
    assert job.wait(60) != 0, job.told
    assert f"{there} was not opened: with target=first" in job.read("err"), job.told
    assert nodes.cluster.run(0, "ls", there).returncode != 0
