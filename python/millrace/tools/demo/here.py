# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""This machine as the place of the demo's programs."""

from __future__ import annotations

import filecmp
import mmap
import os
import shutil
from pathlib import Path

from millrace.prefix import Prefix
from millrace.tools.demo import runner
from millrace.tools.demo.cases import Case
from millrace.tools.session import RunFailed

_WARM_BYTES = 256 << 20
_PAGE = 4096


class Here:
    """Files in a folder of this machine."""

    title = "4 ranks on this machine"
    stock = "the MPI library alone, on this machine's file system"

    def __init__(self, prefix: Prefix, work: Path) -> None:
        self._prefix, self._work = prefix, work

    def file(self, side: str) -> Path:
        return self._work / side / "demo.dat"

    def launch(self, case: Case, file: Path) -> list[str]:
        if case.family == "mpich":
            start = [_first("mpiexec.hydra", "mpiexec.mpich", "mpiexec"), "-n", str(case.ranks)]
        else:
            start = [_first("mpirun.openmpi", "mpirun"), "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
            start += ["--allow-run-as-root"] if os.geteuid() == 0 else []
            start += ["-n", str(case.ranks)]
        return start + case.arguments(file)

    def enter(self, command: list[str]) -> list[str]:
        return command

    def before(self) -> None:
        """Touches and frees memory, so that the first touch is not counted for one side only.

        In small pages and in huge ones: the page cache is made of either, as large as a program's writes are.
        """
        os.sync()
        with mmap.mmap(-1, _WARM_BYTES) as small, mmap.mmap(-1, _WARM_BYTES) as huge:
            if hasattr(mmap, "MADV_HUGEPAGE"):
                small.madvise(mmap.MADV_NOHUGEPAGE)
                huge.madvise(mmap.MADV_HUGEPAGE)
            for area in (small, huge):
                area[::_PAGE] = b"\1" * (len(area) // _PAGE)

    def environment(self, case: Case, side: str) -> dict[str, str]:
        environment = runner.plain_environment(side, self._prefix)
        shim = self._prefix.shared_object("libmillrace-bench-yield.so")
        if case.family == "mpich" and os.path.isfile(shim):
            environment["LD_PRELOAD"] = shim
        return environment

    def reports(self) -> Path:
        return self._work / "reports"

    def same(self) -> bool:
        first, second = self.file(runner.STOCK), self.file(runner.MILLRACE)
        missing = [str(path) for path in (first, second) if not path.exists()]
        if missing:
            raise RunFailed(f"left no file ({', '.join(missing)})")
        return filecmp.cmp(first, second, shallow=False)

    def clear(self) -> None:
        for side in (runner.STOCK, runner.MILLRACE):
            self.file(side).parent.mkdir(exist_ok=True)
            self.file(side).unlink(missing_ok=True)


def _first(*names: str) -> str:
    return next((name for name in names if shutil.which(name)), names[0])
