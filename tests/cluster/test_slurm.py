# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm inside of a cluster: jobs start by srun and sbatch."""

import re

import pytest
from conftest import BUILD, STORAGE, eventually
from millrace.cluster import slurm

pytestmark = pytest.mark.skipif(bool(slurm.missing()), reason=f"{', '.join(slurm.missing())} not found")


@pytest.fixture
def slurm_pair(cluster):
    cluster.up("--nodes", 2, "--slurm")
    return cluster


def srun_ring(pair, *words):
    """
    The ended step. Open MPI 4.1 without Millrace crashes now and then in MPI_Init on a busy machine (a jump to nowhere
    in mca_btl_tcp.so, where a message is early): 1 launch of about 40 with three busy loops beside it. Again then.
    """
    for _ in range(4):
        done = pair.run(0, "srun", *words, cwd="/")
        if done.returncode == 0 or "Failing at address: (nil)" not in done.stderr:
            break
    return done


@pytest.mark.parametrize(("mpi", "options"), [("mpich", []), ("ompi", ["--mpi=pmix"])])
def test_srun_starts_ranks_on_all_nodes(slurm_pair, mpi, options):
    program = BUILD / "bin/tests" / f"ring_{mpi}"
    if not program.exists():
        pytest.skip(f"no {mpi} here")
    for _ in range(3):
        done = srun_ring(slurm_pair, *options, "-N2", "--ntasks-per-node=2", program)
        assert done.returncode == 0, done.stderr
        assert sorted(re.findall(r"on (\S+): right", done.stdout)) == ["node0", "node0", "node1", "node1"]


def test_srun_gives_the_status_of_the_program(slurm_pair):
    assert slurm_pair.run(1, "srun", "-n1", "sh", "-c", "exit 7").returncode == 7


def test_sbatch_runs_a_script(slurm_pair):
    # /local of node 0 is where the batch script runs: read from outside.
    script = "#!/bin/sh\n#SBATCH -N 2 -n 2 --ntasks-per-node 1 -o /local/out\nsrun hostname\n"
    done = slurm_pair.run(0, "sbatch", "-W", input=script, cwd="/")
    assert done.returncode == 0 and "Submitted batch job" in done.stdout, done.stderr
    out = STORAGE / slurm_pair.name / "node0/local/out"
    assert sorted(out.read_text().split()) == ["node0", "node1"]


def test_a_killed_node_comes_back_to_slurm(slurm_pair):
    slurm_pair("kill", 1)
    assert slurm_pair("boot", 1).returncode == 0
    seen = []

    def both_idle():
        seen[:] = slurm_pair.run(0, "sinfo", "-h", "-N", "-o", "%N %t").stdout.split()
        return seen == ["node0", "idle", "node1", "idle"]

    assert eventually(both_idle, 40), seen
    assert slurm_pair.run(0, "srun", "-N2", "true").returncode == 0
