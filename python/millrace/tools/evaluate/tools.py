# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The tools of an evaluation: programs, launchers, room for data."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from millrace.doctor import machine
from millrace.prefix import Prefix
from millrace.tools.evaluate import external, hpcc

LAUNCHERS = {"mpich": ("mpiexec.hydra", "mpiexec.mpich"), "openmpi": ("mpirun.openmpi", "orterun")}
SUFFIX = {"mpich": "mpich", "openmpi": "ompi"}
# On a machine with one MPI, its launcher has the plain name.
_PLAIN = ("mpiexec", "mpirun")


def launcher_of(mpi: str) -> str | None:
    """The command that starts ranks of this MPI."""
    found = next((name for name in LAUNCHERS[mpi] if shutil.which(name)), None)
    if found or any(shutil.which(name) for names in LAUNCHERS.values() for name in names):
        return found
    from millrace.run import launcher

    for name in _PLAIN:
        path = shutil.which(name)
        if path and launcher.inspect(path, os.environ).kind == mpi:
            return name
    return None


@dataclass(frozen=True)
class Tools:
    """The programs' paths, and the room that they may use."""

    prefix: Prefix
    target: Path  # the folder under test
    processors: int
    memory_bytes: int  # available for the measurement
    disk_bytes: int  # available for the measurement
    scheduler: bool = False  # jobs run on other nodes: launchers and processors of this node do not count
    cache_bytes: int = 0  # of the last level; 0: unknown
    fast_blas: bool = False

    @staticmethod
    def here(prefix: Prefix, target: Path, scheduler: bool = False) -> Tools:
        memory = machine.memory()
        available = [x for x in (memory["available"], memory["cgroup_limit"]) if x]
        return Tools(
            prefix,
            target,
            len(os.sched_getaffinity(0)),
            min(available, default=1 << 30) // 2,
            shutil.disk_usage(target).free // 2,
            scheduler,
            0 if scheduler else machine.last_cache_bytes(),
            hpcc.is_fast(hpcc.blas()),
        )

    def program(self, name: str, mpi: str = "") -> Path | None:
        """One of bench/'s programs, in a build tree or installed; a standard program is searched in PATH."""
        if name in external.PROGRAMS:
            found = external.PROGRAMS[name].program()
            return Path(found) if found else None
        full = f"{name}-{SUFFIX[mpi]}" if mpi else name
        for folder in ("bin/bench", "libexec/millrace/bench", "lib/millrace/bench"):
            path = Path(self.prefix.root, folder, full)
            if path.is_file():
                return path
        return None

    def mpis(self) -> list[str]:
        """The MPIs that have a launcher here and the suite's programs."""
        return [
            mpi for mpi in LAUNCHERS if (self.scheduler or launcher_of(mpi)) and self.program("ior", mpi) is not None
        ]

    def why_not(self, program: str, mpi: str) -> str:
        """The reason why the program cannot run here; empty if it can."""
        if mpi and not self.scheduler and launcher_of(mpi) is None:
            return f"no launcher of {mpi} ({' or '.join(LAUNCHERS[mpi])}) on PATH: install it or load its module"
        if self.program(program, mpi) is None:
            if program in external.PROGRAMS:
                return external.PROGRAMS[program].ABSENT
            return f"{program}{f' for {mpi}' if mpi else ''} is not built: build Millrace with its bench/ programs"
        return ""
