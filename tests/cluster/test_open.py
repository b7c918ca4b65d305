# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Opens on a network file system whose server is one of the nodes."""

import json
import os
import re
from itertools import product
from unittest import mock

import pytest
from jobs import LAUNCHERS, NO_POINTER_FILE, nodes_up, shared_folder
from millrace.tools.cluster import gluster

if gluster.missing():
    pytest.skip(gluster.missing(), allow_module_level=True)

FILE = gluster.MOUNT / "file"
MAKE = f"open('{FILE}', 'wb').write(bytes((i // 4096 + i % 251) & 255 for i in range(5_000_000)))"
# A second mount on each node. What a node looks at too early is out of date for a second.
CACHED = gluster.PLACE / "cached"
CACHES = "attribute-timeout=1,entry-timeout=1,negative-timeout=1"
LEAVES = "leaves: no rank is connected"


@pytest.fixture(scope="module")
def nodes():
    with gluster.without_traces(), shared_folder() as folder, nodes_up("open", 2, folder) as up:

        def call(node, command):
            done = up.cluster.run(node, *command)
            assert done.returncode == 0, done.stderr

        gluster.set_up(call, up.count)
        for node in range(up.count):
            call(node, ["bash", "-c", f"mkdir -p {CACHED} && mount -t glusterfs -o {CACHES} node0:/bench {CACHED}"])
        up.cluster.python(0, MAKE)
        yield up


def opens(nodes, mpi, mode, path=FILE, **settings):
    job = nodes.job(mpi).run("opens", path, mode, **settings)
    assert "FAIL" not in job.out and "end" in job.out, job.told
    if "enabled" not in settings:
        assert "millrace:" not in job.read("err"), job.told
    return job


def agents_of(job):
    """How many agents the job had. All of them have left."""
    job.expect_nothing_left()
    return job.read("agents").count(LEAVES)


@pytest.mark.parametrize("mode", ["read", "two", "threads", "rest"])
@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_reads_give_the_file_and_each_node_has_one_agent(nodes, mpi, mode):
    with mock.patch.dict(os.environ, NO_POINTER_FILE if mode == "threads" else {}):
        assert agents_of(opens(nodes, mpi, mode)) == 2


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_a_rank_may_make_its_first_read_when_others_close(nodes, mpi):
    job = nodes.job(mpi)
    job.run("late", job.folder, gluster.MOUNT / f"late-{mpi}", 2 << 20, 1000)
    assert "end" in job.out and "FAIL" not in job.out, job.told
    assert agents_of(job) == 2
    assert [line for line in job.read("agents").splitlines() if LEAVES not in line] == [], job.told


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_refused_opens_have_the_library_s_errors_and_start_no_agent(nodes, mpi):
    job, stock = opens(nodes, mpi, "errors"), opens(nodes, mpi, "errors", enabled=0)
    # The launcher may put another rank's line between two parts of a line.
    told, expected = (sorted(re.findall(r"rank \d+: [^:]+: error class \d+", one.out)) for one in (job, stock))
    assert told == expected and len(told) >= 4 * 4, job.told
    assert agents_of(job) == agents_of(stock) == 0


@pytest.mark.parametrize("settings", [{}, {"enabled": 0}], ids=["auto", "off"])
@pytest.mark.parametrize(("mpi", "mode"), list(product(LAUNCHERS, ("new", "replaced"))))
def test_no_node_looks_at_the_file_before_all_ranks_are_in_the_open(nodes, mpi, mode, settings):
    """A rank may make or replace the file just before its own open. Stock libraries meet all ranks before they look."""
    name = CACHED / f"{mpi}-{len(nodes.jobs)}"
    opens(nodes, mpi, mode, name, **settings)


@pytest.mark.parametrize("settings", [{"enabled": 0}, {"paths": "!*/file"}, {"stage": "none"}], ids=str)
def test_settings_that_leave_reads_to_the_library_start_no_agent(nodes, settings):
    assert agents_of(opens(nodes, "mpich", "read", **settings)) == 0


@pytest.mark.parametrize(("piece", "ranks"), [("1m", 1), ("4k", 2)])
@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_one_rank_of_each_node_registers_a_file_that_is_written_and_others_when_they_need_it(nodes, mpi, piece, ranks):
    """Pieces of 1 MiB stay with the library, those of 4 KiB take the pipeline to the node of the brick."""
    job = nodes.job(mpi)
    words = [
        "-a",
        "MPIIO",
        "-w",
        "-W",
        "-e",
        "-s",
        1,
        "-t",
        piece,
        "-b",
        piece,
        "--at-least",
        "4m",
        "--no-warm",
        "-i",
        1,
    ]
    job.run("ior", *words, "-o", gluster.MOUNT / f"written-{mpi}-{piece}")
    assert agents_of(job) == 2 and "millrace:" not in job.read("err"), job.told
    lines = [json.loads(line) for line in job.read("stats").splitlines()]
    found = [one for one in lines if one["kind"] == "agent_file"]
    assert sorted((one["node"], one["lanes"], one["ranks"]["opens"]) for one in found) == [(0, 1, ranks), (1, 1, ranks)]
    assert {one["sink"] for one in found if one["node"] == 1} == {"next agent"}


@pytest.mark.parametrize(("mpi", "strategy"), list(product(LAUNCHERS, ["auto", "sort"])))
def test_a_file_that_gets_longer_is_read_to_its_new_end_on_every_node(nodes, mpi, strategy):
    opens(nodes, mpi, "grow", gluster.MOUNT / f"grow-{mpi}-{strategy}", strategy=strategy)
