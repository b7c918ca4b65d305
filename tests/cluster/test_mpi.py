# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Stock launchers start jobs across the nodes, unchanged, and the jobs end."""

import os
import re
import shutil

import pytest
from conftest import BUILD, call
from jobs import LONG

LAUNCH = {
    "mpich": (os.environ.get("TEST_MPIEXEC_MPICH") or shutil.which("mpiexec.hydra"), ["-ppn", "2"]),
    "ompi": (os.environ.get("TEST_MPIEXEC_OMPI") or shutil.which("mpirun.openmpi"), ["--map-by", "ppr:2:node"]),
}
pytestmark = pytest.mark.both_mpis  # the launchers themselves
TIMES = 5 if LONG else 2  # a job that now and then does not end is one that does not work


@pytest.fixture
def pair(lasting_pair):
    return lasting_pair


@pytest.fixture(params=["mpich", "ompi"])
def job(request):
    launcher, per_node = LAUNCH[request.param]
    program = BUILD / "bin/tests" / f"ring_{request.param}"
    if not launcher or not program.exists():
        pytest.skip(f"no {request.param} here")
    return lambda ranks, *more: [launcher, "-n", ranks, *per_node, program, *more]


def rings(done):
    """Host of each rank that said that all is well."""
    return dict(re.findall(r"rank (\d+) on (\S+): right", done.stdout))


def test_ranks_on_all_nodes_talk_and_end(cluster, job):
    cluster.up("--nodes", 4, "--bandwidth", "1gbit")
    expected = {str(rank): f"node{rank // 2}" for rank in range(8)}
    for _ in range(TIMES):
        done = cluster.run(0, *job(8), cwd="/", timeout=400)
        assert done.returncode == 0, done.stdout + done.stderr
        assert rings(done) == expected


def test_a_job_starts_from_any_node(pair, job):
    done = pair.run(1, *job(4), cwd="/")
    assert done.returncode == 0 and sorted(rings(done).values()) == ["node0", "node0", "node1", "node1"], done.stderr


def test_a_rank_that_fails_ends_the_job(pair, job):
    done = pair.run(0, *job(4, "fail"), cwd="/")
    assert done.returncode == 3, done.stdout + done.stderr  # what the rank said may be lost with its launcher


def test_two_jobs_at_once(pair, job):
    children = [pair.start(i, *job(2), cwd="/") for i in (0, 1)]
    for child in children:
        out, errors = child.communicate(timeout=400)
        assert child.returncode == 0 and out.count("right") == 2, errors


def test_env_lets_a_shell_do_the_same(pair):
    text = pair("env").stdout
    assert re.search(r"^export HYDRA_HOST_FILE=\S+$", text, re.M)
    assert re.search(r"^export OMPI_MCA_plm_rsh_agent=\S+/ssh$", text, re.M)
    assert call("env", "--name", "no-such").returncode == 2
