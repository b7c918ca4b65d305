# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""ReFrame's configuration: of this machine, written after a look at it; or of a scheduler, from a site's few words.

Cases that are no MPI programs run in partition `node`, others in the partition of their MPI.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.tools import LAUNCHERS, launcher_of

NODE = "node"
SYSTEM = "millrace"
_HEAD = """# Written by `millrace evaluate`; ReFrame's configuration of this session.
from millrace.tools.evaluate import launchers
"""


def partition(name: str, scheduler: str, launcher: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "scheduler": scheduler,
        "launcher": launcher,
        "environs": ["builtin"],
        "max_jobs": 1,  # a measurement needs the whole machine
        **more,
    }


def _common(folder: Path, partitions: list[dict[str, Any]], descr: str) -> dict[str, Any]:
    reframe = folder / "reframe"
    return {
        "systems": [
            {"name": SYSTEM, "descr": descr, "hostnames": [".*"], "max_local_jobs": 1, "partitions": partitions}
        ],
        "environments": [{"name": "builtin", "cc": "cc", "cxx": "c++", "ftn": "f95"}],
        "storage": [{"enable": True, "backend": "sqlite", "sqlite_db_file": str(reframe / "results.db")}],
        "general": [
            {
                "report_file": str(reframe / "report-{sessionid}.json"),
                "topology_prefix": str(reframe / "topology"),
                "git_timeout": 1,
                "trap_job_errors": False,
                # Cases take seconds. Without these values, ReFrame sleeps for about the same time.
                "poll_rate_max": 20,
                "poll_rate_min": 4,
            }
        ],
        "logging": [
            {
                "level": "info",  # each message costs ReFrame milliseconds, also a hidden one
                "handlers": [
                    {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"},
                    {"type": "file", "name": str(reframe / "reframe.log"), "level": "info", "append": True},
                ],
                "handlers_perflog": [
                    {
                        "type": "filelog",
                        "basedir": str(reframe / "perflogs"),
                        "prefix": "%(check_system)s/%(check_partition)s",
                        "level": "info",
                        "format": "%(check_result)s|%(check_unique_name)s|%(check_perfvalues)s",
                        "format_perfvars": "%(check_perf_value)s %(check_perf_unit)s|",
                    }
                ],
            }
        ],
    }


def local(folder: Path, processors: int) -> dict[str, Any]:
    """One system, this machine: its launchers as they are."""
    processor = {"num_cpus": processors, "num_cpus_per_core": 1, "num_sockets": 1, "num_cpus_per_socket": processors}
    partitions = [partition(NODE, "local", "local", processor=processor)]
    for mpi in LAUNCHERS:
        if launcher_of(mpi):
            partitions.append(partition(mpi, "local", f"millrace-{mpi}", processor=processor))
    return _common(folder, partitions, f"this machine, {processors} processors")


def accounting() -> bool:
    """True if Slurm's accounting answers; otherwise ReFrame has to look at the queue."""
    try:
        done = subprocess.run(["sacct", "-n", "-X"], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def slurm(folder: Path, options: str, launcher: str = "srun") -> dict[str, Any]:
    """Jobs by sbatch with the site's options (`-p batch -A project`); ranks by srun, Open MPI's with PMIx."""
    if shutil.which("sbatch") is None:
        raise EvaluationError("--slurm: sbatch is not on PATH: run this command on a login node")
    access = shlex.split(options)
    scheduler = "slurm" if accounting() else "squeue"
    partitions = [
        partition(name, scheduler, "millrace-srun-pmix" if name == "openmpi" else launcher, access=access)
        for name in (NODE, *LAUNCHERS)
    ]
    return _common(folder, partitions, f"Slurm {options}".strip())


def write(folder: Path, configuration: dict[str, Any]) -> Path:
    """Writes the configuration as a file for ReFrame that people can read too."""
    import pprint

    path = folder / "reframe" / "settings.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = pprint.pformat(configuration, width=110, sort_dicts=False)
    path.write_text(f"{_HEAD}\nlaunchers.register()\nsite_configuration = {text}\n", encoding="utf-8")
    return path


def check_given(path: Path) -> Path:
    """The path of a site's own configuration of ReFrame. Raises EvaluationError if it cannot be read."""
    if not path.is_file():
        raise EvaluationError(f"{path} does not exist: give --site a configuration file of ReFrame")
    if not os.access(path, os.R_OK):
        raise EvaluationError(f"{path} cannot be read")
    return path.resolve()
