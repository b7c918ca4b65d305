# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of the demo, as rows of a table with needs and arguments."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millrace.prefix import Prefix

_PROGRAMS = Path(__file__).parent / "programs"
_SYSTEM_PYTHON = "/usr/bin/python3"
# The count of numbers in ncmpigen's input, with --quick and without.
_CDL_VALUES = {True: 60_000, False: 1_200_000}


@dataclass(frozen=True)
class Case:
    """One program: `arguments(file)` are the words behind the launcher."""

    name: str
    about: str
    family: str  # mpich or openmpi
    ranks: int
    arguments: Callable[[Path], list[str]]
    missing: str = ""  # why it cannot run here
    whole: bool = False  # the program measures no time, so the whole run counts


def launch(case: Case, file: Path) -> list[str]:
    """The command without Millrace."""
    if case.family == "mpich":
        start = [_first("mpiexec.hydra", "mpiexec.mpich", "mpiexec"), "-n", str(case.ranks)]
    else:
        start = [_first("mpirun.openmpi", "mpirun"), "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        start += ["--allow-run-as-root"] if os.geteuid() == 0 else []
        start += ["-n", str(case.ranks)]
    return start + case.arguments(file)


def _first(*names: str) -> str:
    return next((name for name in names if shutil.which(name)), names[0])


def bench_program(prefix: Prefix, name: str) -> Path:
    """One of bench/'s programs, in a build tree or installed."""
    for folder in ("bin/bench", "libexec/millrace/bench", "lib/millrace/bench"):
        path = Path(prefix.root, folder, name)
        if path.is_file():
            return path
    return Path(prefix.root, "bin", "bench", name)


def _missing_python(module: str) -> str:
    code = f"from mpi4py import MPI\nimport {module} as m\nassert not hasattr(m, 'get_config') or m.get_config().mpi"
    # Debian's h5py uses its MPI build only under a launcher, or with this variable.
    environment = {**os.environ, "H5PY_ALWAYS_USE_MPI": "1"}
    try:
        done = subprocess.run(
            [_SYSTEM_PYTHON, "-c", code], env=environment, capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return f"{_SYSTEM_PYTHON} cannot be run"
    package = {"h5py": "python3-h5py-mpi"}.get(module, "python3-mpi4py")
    return "" if done.returncode == 0 else f"no parallel {module} (Debian: {package})"


def _python(name: str, about: str, script: str, module: str, *words: str) -> Case:
    command = [_SYSTEM_PYTHON, str(_PROGRAMS / script)]
    return Case(name, about, "openmpi", 4, lambda file: [*command, str(file), *words], _missing_python(module))


def _bench(prefix: Prefix, name: str, about: str, program: str, words: str) -> Case:
    path = bench_program(prefix, program)
    missing = "" if path.is_file() else f"{path} is not built"
    family = "mpich" if program.endswith("-mpich") else "openmpi"
    return Case(name, about, family, 4, lambda file: [str(path), *words.split(), "-k", "-o", str(file)], missing)


def write_cdl(path: Path, quick: bool) -> None:
    """Input for ncmpigen: the text form of a netCDF file with two variables."""
    numbers = random.Random(1)
    count = _CDL_VALUES[quick]
    values = ", ".join(str(numbers.randrange(1 << 30)) for _ in range(count))
    path.write_text(
        f"netcdf demo {{\ndimensions:\n n = {count} ;\nvariables:\n int a(n) ;\n double b(n) ;\n"
        f"data:\n a = {values} ;\n b = {values} ;\n}}\n",
        encoding="utf-8",
    )


def _ncmpigen(work: Path, quick: bool) -> Case:
    text = work / "demo.cdl"
    missing = "" if shutil.which("ncmpigen") else "no ncmpigen (Debian: pnetcdf-bin)"
    if not missing:
        write_cdl(text, quick)
    return Case(
        "PnetCDF ncmpigen",
        "PnetCDF's own tool makes a file from text; whole program timed",
        "openmpi",
        1,
        lambda file: ["ncmpigen", "-o", str(file), str(text)],
        missing,
        whole=True,
    )


def all_cases(prefix: Prefix, work: Path, quick: bool) -> list[Case]:
    """All cases; `missing` has the reason if a case cannot run here."""
    return [*_python_cases(quick), _ncmpigen(work, quick), *(_bench(prefix, *row) for row in _bench_rows(quick))]


def _python_cases(quick: bool) -> list[Case]:
    edge, small = ("128", "96") if quick else ("256", "192")
    cube, view = f"cube of {edge}^3 floats in 4 blocks", f"cube of {small}^3 doubles through a subarray view"
    return [
        _python("h5py, independent", cube, "h5py_blocks.py", "h5py", edge, "independent"),
        _python("h5py, collective", cube, "h5py_blocks.py", "h5py", edge, "collective"),
        _python("mpi4py, collective", view, "mpi4py_view.py", "mpi4py.MPI", small, "collective"),
    ]


def _bench_rows(quick: bool) -> list[tuple[str, str, str, str]]:
    """Rows of (name, special feature, program of bench/, its options)."""
    size, large, cube = ("16m", "16m", "128x128x128") if quick else ("64m", "64m", "192x192x192")
    btio = "W" if quick else "A"
    ior = "-a MPIIO -w -W -e"
    large_pieces = "large pieces: nothing to gain, nothing to lose"
    bricks = "subarray view, plane by plane, independent, fsync"
    return [
        ("BT-IO full", f"class {btio}: collective, derived types", "btio-mpich", f"--class {btio} --mode full"),
        ("BT-IO full, Open MPI", "class W: collective, derived types", "btio-ompi", "--class W --mode full"),
        ("BT-IO simple", f"class {btio}: a call per row", "btio-mpich", f"--class {btio} --mode simple"),
        (
            "IOR 256 B",
            "ranks interleaved, independent, fsync",
            "ior-mpich",
            f"{ior} -t 256 -b 256 -s 1 --at-least {size}",
        ),
        (
            "IOR 256 B, collective",
            "ranks interleaved, fsync",
            "ior-mpich",
            f"{ior} -c -t 256 -b 256 -s 1 --at-least 16m",
        ),
        (
            "IOR 4 KiB, collective",
            "16 KiB blocks, fsync",
            "ior-mpich",
            f"{ior} -c -t 4k -b 16k -s 1 --at-least {size}",
        ),
        (
            "IOR 4 KiB, Open MPI",
            "16 KiB blocks, independent, fsync",
            "ior-ompi",
            f"{ior} -t 4k -b 16k -s 1 --at-least {size}",
        ),
        ("IOR 16 MiB", large_pieces, "ior-mpich", f"{ior} -t 16m -b {large} -s 1"),
        ("3-D bricks", bricks, "subarray-mpich", f"-d {cube} -e -W"),
    ]
