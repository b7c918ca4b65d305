# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Files that several nodes have open hold what the stock library would have written."""

import importlib
import os
import subprocess
import sys
from itertools import cycle, product
from unittest import mock

import pytest
from conftest import BUILD, ROOT
from jobs import LAUNCHERS, LONG, NO_POINTER_FILE, nodes_up, shared_folder

TOPOLOGIES = ("ring", "tree", "direct")
SERVERS = (1, 3)
SEEDS = 60 if LONG else 4
DIFFERENTIAL = ROOT / "tests/mpi/differential/differential.py"


@pytest.fixture(scope="module")
def nodes():
    with shared_folder() as folder, nodes_up("across", 3, folder) as up:
        yield up


def route(topology, servers):
    return {"topology": topology, "file_servers": servers}


def random_cases():
    """Both MPIs run the same seeds when there is time, else they take turns: half of the ways and seeds for each."""
    ways = list(product(SERVERS, TOPOLOGIES))
    return [(m, *way) for way, m in (product(ways, LAUNCHERS) if LONG else zip(ways, cycle(LAUNCHERS), strict=False))]


@pytest.mark.parametrize(("mpi", "servers", "topology"), random_cases())
def test_random_programs_write_and_see_the_same(nodes, mpi, topology, servers):
    program = next((p for p in BUILD.rglob(f"differential_{mpi}") if p.is_file()), None)
    if not LAUNCHERS[mpi] or program is None:
        pytest.skip(f"no {mpi} here")
    first = 1 + SEEDS * (TOPOLOGIES.index(topology) * len(SERVERS) + SERVERS.index(servers))
    command = [sys.executable, DIFFERENTIAL, "--mpi", mpi, "--launcher", LAUNCHERS[mpi], "--program", program]
    command += ["--preload", BUILD / "lib/libmillrace.so", "--cluster", nodes.cluster.name, "--folder", nodes.folder]
    command += ["--ranks", 6, "--first", first, "--cases", SEEDS, "--timeout", 240]
    for name, value in route(topology, servers).items():
        command += ["--also", f"MILLRACE_{name.upper()}={value}"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def ior_cases():
    """Each strategy and MPI with each topology and number of file servers when there is time, else a part of them."""
    strategies = ("auto", "immediate", "sort", "journal")
    if LONG:
        every = [(m, t, n, s) for m in LAUNCHERS for t in TOPOLOGIES for n in (1, 2, 3) for s in strategies]
        return every
    mpis, topologies, servers = cycle(("mpich", "ompi")), cycle(TOPOLOGIES), cycle((1, 3, 2))
    return [(next(mpis), next(topologies), next(servers), s) for s in strategies]


@pytest.mark.parametrize(("mpi", "topology", "servers", "strategy"), ior_cases())
def test_strided_and_segmented_writes_are_verified(nodes, mpi, topology, servers, strategy):
    for transfer, block, segments in ((4096, 16384, 128), (1000, 1000, 300)):  # 12 MiB are three stripes
        job = nodes.job(mpi)
        words = ["-a", "MPIIO", "-w", "-W", "-e", "--no-warm", "-t", transfer, "-b", block, "-s", segments, "-i", 1]
        job.run(
            "ior", *words, "-o", job.folder / "file", strategy=strategy, sort_buffer="1MiB", **route(topology, servers)
        )
        assert '"verified": true' in job.out, job.told


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
@pytest.mark.parametrize(("topology", "servers"), [("ring", 3), ("tree", 1), ("direct", 2)] if LONG else [("ring", 3)])
def test_the_uses_that_programs_make_of_communicators_and_files(nodes, mpi, topology, servers):
    job = nodes.job(mpi)
    uses = [
        "beside",
        "parts",
        "self",
        "nothing",
        "read_back",
        "large",
        "barrier",
        "after_barrier",
        *(["many", "quick"] if LONG else []),
    ]
    job.run("across", job.folder, *uses, bound_s=300, sort_buffer="1MiB", **route(topology, servers))
    assert "FAIL" not in job.out and [f"pass {name}" in job.out for name in uses] == [True] * len(uses), job.told


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_two_handles_of_one_file(nodes, mpi):
    job = nodes.job(mpi)
    job.run("across", job.folder, "two_handles", **route("ring", 3))
    assert "FAIL" not in job.out and "pass two_handles" in job.out, job.told


ORDERED = ("barrier", "after_barrier", "self_first", "read_back", "parts")


@pytest.mark.parametrize("strategy", ["auto", "sort", "journal"])
@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_where_nodes_do_not_work_together_the_order_is_kept_all_the_same(nodes, mpi, strategy):
    """Such files are the MPI library's; nothing is said about what the user asked for."""
    job = nodes.job(mpi)
    job.run("across", job.folder, *ORDERED, file_servers=0, strategy=strategy)
    assert "FAIL" not in job.out and [f"pass {name}" in job.out for name in ORDERED] == [True] * len(ORDERED), job.told
    assert "millrace:" not in job.read("err"), job.told


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_where_agents_cannot_reach_each_other_files_stay_with_the_library(nodes, mpi):
    """An address that means another node everywhere: the file is right all the same, and one line says why."""
    job = nodes.job(mpi)
    uses = [name for name in ORDERED if name != "self_first"]  # of which something else is said
    job.run("across", job.folder, *uses, interfaces="lo", strategy="sort", **route("ring", 3))
    assert "FAIL" not in job.out and [f"pass {name}" in job.out for name in uses] == [True] * len(uses), job.told
    said = [line for line in job.read("err").splitlines() if line.startswith("millrace:")]
    assert said and all("cannot reach each other" in line for line in said), job.told


@pytest.mark.parametrize("strategy", ["auto", "sort"])
@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_a_handle_of_one_rank_that_is_open_before_that_of_all(nodes, mpi, strategy):
    job = nodes.job(mpi)
    job.run("across", job.folder, "self_first", strategy=strategy, **route("direct", 3))
    assert "FAIL" not in job.out and "pass self_first" in job.out, job.told
    assert "a rank has the file open already, without the ranks of other nodes" in job.read("err"), job.told


@pytest.mark.both_mpis  # each has a front end of its own, with these functions
@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_collective_functions_order_what_two_nodes_write(nodes, mpi, monkeypatch):
    """Each of the table, but those that need other processes."""
    monkeypatch.syspath_prepend(ROOT / "src/front/mpiio")
    table = importlib.import_module("table")
    need_others = {f"MPI_Comm_{what}" for what in ("spawn", "spawn_multiple", "accept", "connect")}
    no_meetings = {"MPI_File_close", "MPI_File_sync"} | ({"MPI_File_set_atomicity"} if mpi == "ompi" else set())
    job = nodes.job(mpi, per_node=1)
    job.run("meet", job.folder, strategy="sort", **route("direct", 1))
    said = [line.split() for line in job.out.splitlines()]
    passed = {words[1] for words in said if words[0] == "pass" or (words[0] == "lacks" and mpi == "ompi")}
    assert "FAIL" not in job.out and {name for name, _ in table.ORDERING} - need_others <= passed, job.told
    assert set(table.MEETING) - no_meetings <= passed, job.told


def test_a_second_job_on_the_same_nodes_at_the_same_time(nodes):
    jobs = [nodes.job(mpi) for mpi in LAUNCHERS if LAUNCHERS[mpi]]
    for number, job in enumerate(jobs):
        job.start("across", job.folder, "parts", "read_back", node=number)
    for job in jobs:
        assert job.wait(120) == 0 and "FAIL" not in job.out and "pass read_back" in job.out, job.told


@pytest.mark.parametrize(
    ("client", "mpi"), [("hdf5", "mpich"), ("hdf5", "ompi"), ("netcdf", "ompi"), ("pnetcdf", "ompi")]
)
def test_libraries_that_order_their_writes_by_barriers(nodes, monkeypatch, client, mpi):
    """Their files are the stock library's: one rank's fill values and metadata, another rank's data."""
    monkeypatch.setenv("HDF5_USE_FILE_LOCKING", "FALSE")
    monkeypatch.setenv("PNETCDF_HINTS", "nc_driver=mpiio")
    job = nodes.job(mpi)
    if not job.program(f"client_{client}").exists():
        pytest.skip(f"no {client} for {mpi} here")
    found = {}
    for name, settings in (
        ("stock", {"paths": "/nowhere/*"}),
        ("millrace", {"strategy": "sort", **route("direct", 3)}),
    ):
        (job.folder / name).mkdir()
        job.run(f"client_{client}", job.folder / name, bound_s=200, **settings)
        files = {path.name: path.read_bytes() for path in (job.folder / name).iterdir()}
        found[name] = ([line for line in job.out.splitlines() if line.startswith("answer")], files)
    assert found["stock"][0] and found["stock"][1] and found["stock"] == found["millrace"], job.told


@pytest.mark.parametrize("mpi", ["mpich", "ompi"])
def test_files_of_local_disks_with_equal_numbers_are_several_files(nodes, mpi):
    """As on nodes whose disks were copied from one image: no byte of one node goes to another node's file."""
    job = nodes.job(mpi)
    place = job.folder / "local"
    place.mkdir()
    each = range(3)
    try:
        for node in each:
            done = nodes.cluster.run(node, "mount", "-t", "tmpfs", "none", place)
            assert done.returncode == 0, done.stderr
            # Only one process creates a file; the MPI libraries' others expect to find it.
            assert nodes.cluster.run(node, "touch", place / "file").returncode == 0
        words = [*"-a MPIIO -w -k -E --no-warm -t 1000 -b 1000 -s 50 -i 1 -o".split(), place / "file"]

        def bytes_of_each():
            return [nodes.cluster.run(node, "od", "-An", "-v", "-tx1", place / "file").stdout for node in each]

        with mock.patch.dict(os.environ, NO_POINTER_FILE):
            job.run("ior", *words, enabled=0)
            expected = bytes_of_each()
            for node in each:
                assert nodes.cluster.run(node, "truncate", "-s", 0, place / "file").returncode == 0
            job.run("ior", *words, strategy="sort", **route("ring", 3))
        assert bytes_of_each() == expected and len({"", *expected}) == 4, "the nodes' files differ, as they have to"
        numbers = {nodes.cluster.run(node, "stat", "-c", "%i", place / "file").stdout for node in each}
        assert len(numbers) == 1, "the files have different numbers: this tests nothing"
        assert "nodes do not see the same file" in job.read("err"), job.told
    finally:
        for node in each:
            nodes.cluster.run(node, "umount", place)
