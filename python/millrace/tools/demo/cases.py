# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The programs of the demo on one machine, as rows of a table with needs and arguments."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from millrace.prefix import Prefix

_PROGRAMS = Path(__file__).parent / "programs"
_SYSTEM_PYTHON = "/usr/bin/python3"
PAIRS = 3
# Where the library does all the work, the difference is noise: more pairs show that it is.
PAIRS_OF_EQUALS = 9


@dataclass(frozen=True)
class Case:
    """One program: `arguments(file)` are the words behind the launcher."""

    name: str
    about: str
    family: str  # mpich or openmpi
    ranks: int
    arguments: Callable[[Path], list[str]]
    missing: str = ""  # why it cannot run here
    pairs: int = PAIRS


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


def bench_case(prefix: Prefix, ranks: int, name: str, about: str, program: str, words: str, pairs: int = PAIRS) -> Case:
    """A program of bench/ for one of the MPI libraries, which leaves its file."""
    path = bench_program(prefix, program)
    missing = "" if path.is_file() else f"{path} is not built"
    family = "mpich" if program.endswith("-mpich") else "openmpi"
    return Case(
        name, about, family, ranks, lambda file: [str(path), *words.split(), "-k", "-o", str(file)], missing, pairs
    )


def all_cases(prefix: Prefix, quick: bool) -> list[Case]:
    """All cases; `missing` has the reason if a case cannot run here."""
    edge, small = ("128", "96") if quick else ("256", "192")
    return [
        *(bench_case(prefix, 4, *row) for row in _bench_rows(quick)),
        _python(
            "h5py", f"cube of {edge}^3 floats in 4 blocks, collective", "h5py_blocks.py", "h5py", edge, "collective"
        ),
        _python(
            "mpi4py",
            f"cube of {small}^3 doubles through a subarray view, collective",
            "mpi4py_view.py",
            "mpi4py.MPI",
            small,
            "collective",
        ),
    ]


def _bench_rows(quick: bool) -> list[tuple[str, str, str, str, int]]:
    """Rows of (name, special feature, program of bench/, its options, pairs)."""
    size, large, cube = ("16m", "16m", "128x128x128") if quick else ("64m", "64m", "192x192x192")
    btio = "W" if quick else "A"
    solver = f"--class {btio} --steps 50 --verify none --sync --mode"
    ior = "-a MPIIO -w -e"
    large_pieces = "left to the library: nothing to gain, nothing to lose"
    return [
        ("BT-IO full", f"class {btio}: collective, derived types", "btio-mpich", f"{solver} full", PAIRS),
        ("BT-IO simple", f"class {btio}: a call per row", "btio-mpich", f"{solver} simple", PAIRS),
        ("IOR 256 B", "ranks interleaved", "ior-mpich", f"{ior} -t 256 -b 256 -s 1 --at-least {size}", PAIRS),
        (
            "IOR 4 KiB, collective",
            "16 KiB blocks",
            "ior-mpich",
            f"{ior} -c -t 4k -b 16k -s 1 --at-least {size}",
            PAIRS,
        ),
        ("IOR 4 KiB, Open MPI", "16 KiB blocks", "ior-ompi", f"{ior} -t 4k -b 16k -s 1 --at-least {size}", PAIRS),
        ("3-D bricks", "subarray view, plane by plane", "subarray-mpich", f"-d {cube} -e", PAIRS),
        ("IOR 16 MiB", large_pieces, "ior-mpich", f"{ior} -t 16m -b {large} -s 1", PAIRS_OF_EQUALS),
    ]
