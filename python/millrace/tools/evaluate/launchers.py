# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Launchers for ReFrame, with options for a machine with more ranks than processors."""

from __future__ import annotations

import os

from millrace.tools.evaluate.tools import launcher_of

# Launcher -> options that put ranks on neighbouring processors, or far apart.
_HYDRA = {"packed": ("-bind-to", "core", "-map-by", "core"), "spread": ("-bind-to", "core", "-map-by", "socket")}
_ORTE = {"packed": ("--bind-to", "core", "--map-by", "core"), "spread": ("--bind-to", "core", "--map-by", "socket")}
_SRUN = {
    "packed": ("--cpu-bind=cores", "--distribution=block:block"),
    "spread": ("--cpu-bind=cores", "--distribution=cyclic:cyclic"),
}
SRUN = ("srun", "millrace-srun-pmix")
PLACEMENT = {"millrace-mpich": _HYDRA, "millrace-openmpi": _ORTE} | dict.fromkeys(SRUN, _SRUN)


def register() -> None:
    """Registers millrace-mpich, millrace-openmpi and millrace-srun-pmix with ReFrame. It is safe to call it again."""
    from reframe.core.backends import register_launcher
    from reframe.core.launchers import JobLauncher

    if getattr(register, "done", False):
        return
    register.done = True  # type: ignore[attr-defined]

    @register_launcher("millrace-mpich")
    class _Mpich(JobLauncher):
        def command(self, job):
            return [launcher_of("mpich") or "mpiexec.hydra", "-n", str(job.num_tasks)]

    @register_launcher("millrace-openmpi")
    class _OpenMpi(JobLauncher):
        def command(self, job):
            # Allows more ranks than processors; waiting ranks then yield.
            words = [launcher_of("openmpi") or "mpirun", "--oversubscribe"]
            words += ["--bind-to", "none"] if "--bind-to" not in self.options else []
            words += ["--mca", "mpi_yield_when_idle", "1"]
            return [*words, *["--allow-run-as-root"] * (os.geteuid() == 0), "-n", str(job.num_tasks)]

    @register_launcher("millrace-srun-pmix")
    class _Srun(JobLauncher):
        def command(self, job):
            return ["srun", "--mpi=pmix"]
