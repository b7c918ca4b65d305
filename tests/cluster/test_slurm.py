# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm inside of a cluster: jobs start by srun and sbatch."""

import re
import sys
from pathlib import Path

import pytest
from conftest import BUILD, STORAGE, eventually
from millrace.tools.cluster import slurm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from victim import pattern  # noqa: E402

pytestmark = pytest.mark.skipif(bool(slurm.missing()), reason=f"{', '.join(slurm.missing())} not found")


@pytest.fixture
def slurm_pair(slurm_site):
    return slurm_site[0]


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


@pytest.mark.parametrize(("mpi", "options"), [("mpich", []), ("ompi", ["--mpi=pmix"])])
def test_a_program_writes_its_last_checkpoint_after_sigterm(slurm_site, mpi, options):
    # The step's ranks catch it; the agent, which may be one of the step's processes or not, is signalled in any case.
    cluster, folder = slurm_site
    program = BUILD / "bin/tests" / f"victim_{mpi}"
    path, out, stats = (folder / f"{mpi}-{name}" for name in ("data", "out", "stats"))
    if not program.exists():
        pytest.skip(f"no {mpi} here")
    victim = [program, path, "pieces=2000", "stop=1000", "term=1", "sync=1"]
    command = [
        *(BUILD / "bin/millrace", "run", "--direct-above", "16k", "--stats", stats, "--"),
        *("srun", *options, "-N1", "-wnode0", "-n2", *victim),
    ]
    with out.open("w") as written, cluster.start(0, *command, stdout=written, cwd="/") as job:
        try:
            at_stop = eventually(lambda: len(re.findall(r"at \d \d+", out.read_text())) == 2, 60)
            assert at_stop, out.read_text()
            (number,) = cluster.run(0, "squeue", "-h", "-o", "%A").stdout.split()
            assert cluster.run(0, "pkill", "-TERM", "millraced").returncode == 0
            assert cluster.run(0, "scancel", "--signal=TERM", number).returncode == 0
            assert job.wait(60) == 0, job.stderr.read()
        finally:
            job.kill()
    assert sorted(re.findall(r"closed (\d) (\w+)", out.read_text())) == [("0", "MPI_SUCCESS"), ("1", "MPI_SUCCESS")]
    assert "error" not in out.read_text()
    assert path.read_bytes() == pattern(0, 2 * 2000 * 1024)
    assert '"route": "pipeline"' in stats.read_text()
