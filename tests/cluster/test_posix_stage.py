# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Plain files that MPI_Init copies to every node: reads give what they give without Millrace, from the node's copy."""

import json
import os
import signal
import time

import pytest
from conftest import eventually
from jobs import LAUNCHERS, TIMEOUT_S, nodes_up, port_of, shared_folder
from test_stage import INSTEAD, LARGE, SIZE, make

RANKS = 6


@pytest.fixture(scope="session")
def nodes():
    with shared_folder() as folder, nodes_up("inputs", 3, folder, "200mbit") as up:
        up.networks = [os.readlink(f"/proc/{node['pid']}/ns/net") for node in up.cluster.status()["nodes"]]
        yield up


class Reading:
    """One run of inputs.c."""

    def __init__(self, nodes, mpi, path, mode="all", patterns=None, **settings):
        self.job = nodes.job(mpi)
        self.copies = self.job.folder / "copies"
        self.copies.mkdir()
        settings = {
            "posix_stage": path if patterns is None else patterns,
            "temporary": self.copies,
            "timeout": f"{TIMEOUT_S}s",
        } | settings
        self.job.start("inputs", self.job.folder, path, mode, **settings)

    def end(self, bound_s=60):
        assert self.job.wait(bound_s) == 0, self.job.told
        assert "FAIL" not in self.job.out and "end" in self.job.out, self.job.told
        assert list(self.copies.iterdir()) == []
        return self

    def lines(self, name):
        return {path.name: path.read_text() for path in self.job.folder.glob(f"{name}-*")}

    @property
    def seen(self):
        return self.lines("reads")

    @property
    def sources(self):
        """Of all ranks, rank by rank: which of `copy` and `file` each descriptor had open."""
        return [text.split() for _, text in sorted(self.lines("from").items())]

    @property
    def said(self):
        return self.job.read("err")


def stock(nodes, mpi, path, mode="all"):
    read = Reading(nodes, mpi, path, mode, patterns="", posix=0, stage="none", direct_above=1).end()
    assert len(read.seen) == RANKS and {word for words in read.sources for word in words} <= {"file"}
    return read


def compare(nodes, mpi, name, mode, *sources, seed=1, **settings):
    """The run with copies against one without; what it does to the file, it does to a file of the other's own."""
    read = Reading(nodes, mpi, make(nodes.folder / f"{name}-{mpi}", seed=seed), mode, **settings).end()
    plain = stock(nodes, mpi, make(nodes.folder / f"{name}-{mpi}-stock", seed=seed), mode)
    assert read.seen == plain.seen, read.job.told
    assert read.sources == [list(sources)] * RANKS, read.job.told
    return read


# These come first: an agent waits a minute for one that has died, and the end waits for all agents.
@pytest.mark.parametrize(("mpi", "node"), [("mpich", 0), ("ompi", 1), ("mpich", 2)])
def test_an_agent_that_dies_meanwhile_makes_all_read_the_file_itself(nodes, mpi, node):
    path = make(nodes.folder / f"killed-{mpi}-{node}", LARGE)
    time.sleep(2.1)  # so that the copy begins at once
    read = Reading(nodes, mpi, path)

    def agents():
        of = [pid for pid, name in read.job.processes().items() if name == "millraced" and port_of(pid)]
        return {nodes.networks.index(os.readlink(f"/proc/{pid}/ns/net")): pid for pid in of}

    assert eventually(lambda: len(agents()) == 3, 60), read.job.told
    os.kill(agents()[node], signal.SIGKILL)
    read.end(90)
    assert read.sources == [["file"] * 7] * RANKS and read.said.count(INSTEAD) == 1, read.job.told
    assert read.seen == stock(nodes, mpi, path).seen


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_every_way_of_reading_gives_the_bytes_from_the_node(nodes, mpi):
    """No rank of any node has the file itself open: each descriptor is one of the copy on the rank's node."""
    read = compare(nodes, mpi, "ways", "all", *["copy"] * 7)
    assert read.said == ""
    reports = [json.loads(line) for line in read.job.read("stats").splitlines() if line.startswith("{")]
    of_file = [one for one in reports if one["kind"] == "client" and one["path"].endswith(f"ways-{mpi}")]
    assert len(of_file) == 1 and of_file[0]["rank"] == 0 and of_file[0]["read_bytes"] == SIZE, reports


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_a_changed_file_is_read_itself(nodes, mpi):
    compare(nodes, mpi, "changed", "changed", "copy", "file", "file")


def test_a_deleted_file_is_gone(nodes):
    read = compare(nodes, "mpich", "deleted", "deleted", "copy")
    assert "No such file" in read.seen["reads-5"]


def test_a_file_that_may_not_be_read_any_more_is_refused(nodes):
    read = compare(nodes, "mpich", "forbidden", "forbidden")
    assert "forbidden: 0 Permission denied" in read.seen["reads-3"]


def test_a_program_that_closes_all_descriptors_reads_the_file_itself(nodes):
    compare(nodes, "mpich", "closed", "closed", "file", "file")


def test_children_read_the_copies_until_exec(nodes):
    compare(nodes, "ompi", "forked", "forked", *["copy"] * 7)


def test_a_lock_ends_the_use_of_a_copy(nodes):
    compare(nodes, "mpich", "locked", "locked", "file")


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_bytes_that_wait_in_the_agent_are_read(nodes, mpi):
    compare(nodes, mpi, "mpi", "mpi", "copy", "file", direct_above="1GiB")


def test_the_file_itself_is_read_after_finalize(nodes):
    compare(nodes, "ompi", "finalized", "finalized", "file")


def test_patterns_name_files_and_what_matches_nothing_is_told(nodes):
    folder = nodes.folder / "deck"
    folder.mkdir()
    path = make(folder / "file.in")
    for i in range(3):
        make(folder / f"table-{i}", 1000 + i)
    read = Reading(nodes, "mpich", path, patterns=f"{folder}/*.in:{folder}/table-[01]:{folder}/none*").end()
    assert read.sources == [["copy"] * 7] * RANKS, read.job.told
    assert read.said.count("posix_stage") == 1 and "none*' matches no file" in read.said


def test_more_files_than_the_bound_are_read_where_they_are(nodes):
    folder = nodes.folder / "many"
    folder.mkdir()
    for i in range(70):
        make(folder / f"file-{i:02}", 2000 + i, i)
    read = Reading(nodes, "mpich", folder / "file-63", patterns=f"{folder}/*").end()
    assert read.sources == [["copy"] * 7] * RANKS, read.job.told
    assert read.said.count("more than 64 files match") == 1
    read = Reading(nodes, "ompi", folder / "file-64", patterns=f"{folder}/*").end()
    assert read.sources == [["file"] * 7] * RANKS, read.job.told


def test_a_node_without_room_makes_all_read_the_file_itself(nodes):
    path = make(nodes.folder / "room")
    for node in range(3):
        assert nodes.cluster.run(node, "mkdir", "-p", "/tmp/copies").returncode == 0
    small = nodes.cluster.run(1, "mount", "-t", "tmpfs", "-o", "size=4m", "none", "/tmp/copies")
    assert small.returncode == 0, small.stderr
    read = Reading(nodes, "ompi", path, temporary="/tmp/copies").end()
    assert read.sources == [["file"] * 7] * RANKS and read.seen == stock(nodes, "ompi", path).seen
    assert read.said.count(INSTEAD) == 1 and "rank 2 has too little room" in read.said


def test_ranks_of_one_node_read_the_file_itself(nodes):
    path = make(nodes.folder / "single")
    job = nodes.job("mpich")
    nodes_before, nodes.count = nodes.count, 1
    try:
        job.run("inputs", job.folder, path, "all", posix_stage=path)
    finally:
        nodes.count = nodes_before
    assert {line for one in job.folder.glob("from-*") for line in one.read_text().split()} == {"file"}
    assert job.read("err") == ""
