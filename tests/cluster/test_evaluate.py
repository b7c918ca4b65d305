# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""An evaluation whose cases are jobs of Slurm: limits, and a shared file under Millrace."""

import json
import os
import shutil

import pytest
from conftest import BUILD
from millrace.tools.cluster import slurm

pytest.importorskip("reframe")
pytestmark = pytest.mark.skipif(bool(slurm.missing()), reason=f"{', '.join(slurm.missing())} not found")
BOUND_S = 500


def test_cases_run_as_jobs_and_are_verified(cluster):
    if not (BUILD / "bin/bench/ior-mpich").exists():
        pytest.skip("bench/ is not built for MPICH")
    cluster.up("--nodes", 1, "--slurm")
    folder = BUILD / f"evaluate-slurm-{os.getpid()}"  # seen by the node, as /tmp is not
    try:
        words = ("evaluate", "--slurm", "", "-o", folder, "--only", "ior.4KiB.millrace.", "--mpi", "mpich")
        words += ("--only", "ranks.4KiB.posix")  # more ranks than the one node has processors
        done = cluster.run(0, BUILD / "bin/millrace", *words, cwd="/", timeout=BOUND_S)
        assert done.returncode == 0, done.stdout + done.stderr
        result = json.loads((folder / "results/ior.4KiB.millrace.mpich.json").read_text())
        assert result["status"] == "passed" and result["raw"]["verified"]
        assert "srun" in result["command"] and "millrace run" in result["command"]
        more = json.loads((folder / "results/ranks.4KiB.posix.mpich.json").read_text())
        assert more["status"] == "passed" and more["raw"]["ranks"] == 2 * result["raw"]["ranks"]
        assert json.loads((folder / "node.json").read_text())["hostname"] == "node0"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
