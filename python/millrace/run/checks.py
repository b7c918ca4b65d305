# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Checks a program before its start: can Millrace reach it, and does its MPI fit the launcher?"""

from __future__ import annotations

import os
import stat

from millrace.prefix import Prefix
from millrace.run import elf
from millrace.run.launcher import Launcher, which

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Programs that start others or load MPI at run time, so their linked libraries prove nothing.
_WRAPPERS = {
    "env",
    "nice",
    "ionice",
    "taskset",
    "numactl",
    "time",
    "timeout",
    "stdbuf",
    "setsid",
    "nohup",
    "strace",
    "ltrace",
    "gdb",
    "perf",
    "valgrind",
    "chrt",
    "prlimit",
    "xterm",
}
_INTERPRETERS = (
    "python",
    "pypy",
    "bash",
    "dash",
    "sh",
    "zsh",
    "ksh",
    "csh",
    "tcsh",
    "fish",
    "perl",
    "ruby",
    "julia",
    "R",
    "Rscript",
    "lua",
    "tclsh",
    "octave",
    "node",
    "java",
)
FAMILY_NAMES = {"mpich": "MPICH (or one with its ABI)", "openmpi": "Open MPI", "abi": "the standard MPI ABI"}
_RIGHT_LAUNCHER = {"mpich": ("mpiexec.hydra", "mpiexec.mpich"), "openmpi": ("mpirun.openmpi", "mpirun")}


class Verdict:
    """The findings: errors stop the run (unless forced); after notes the program starts."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.notes: list[str] = []
        self.unreachable: list[str] = []  # programs into which the library cannot be loaded, with the reason


def _loads_later(name: str) -> bool:
    base = os.path.basename(name)
    stem = base.rstrip("0123456789.")
    return base in _WRAPPERS or stem in _INTERPRETERS


def _shebang(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _mismatch(name: str, family: str, library: str, launcher: Launcher) -> str:
    fitting = next(
        (n for n in _RIGHT_LAUNCHER.get(family, ()) if which(n)),
        f"the mpiexec of {FAMILY_NAMES[family]}",
    )
    return (
        f"{name} links {FAMILY_NAMES[family]} ({library}), but {launcher.path} is the launcher of "
        f"{FAMILY_NAMES[launcher.family or '']} {launcher.version}: each rank would run alone. "
        f"Start it with {fitting}, or use --force"
    )


def program(
    name: str, launcher: Launcher | None, prefix: Prefix, environment: Mapping[str, str], mpi_only: bool = True
) -> Verdict:
    """Checks one program of the command. `mpi_only`: without MPI there is nothing to do for it."""
    verdict = Verdict()
    path = which(name, environment.get("PATH"))
    if path is None:
        reason = "is not executable" if os.path.isfile(name) else "was not found"
        if launcher is None:
            verdict.errors.append(f"{name} {reason}")
        elif "/" in name or launcher.kind != "slurm":
            verdict.notes.append(f"{name} {reason} on this node; see the messages of {os.path.basename(launcher.path)}")
            verdict.unreachable.append(f"{name} {reason} on this node")
        return verdict
    mode = os.stat(path).st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID) and os.geteuid() != 0:
        verdict.notes.append(
            f"{name} is setuid or setgid: the system ignores LD_PRELOAD for it, " "so it runs without Millrace"
        )
        verdict.unreachable.append(f"{name} is setuid or setgid")
        return verdict
    if _shebang(path) or _loads_later(name) or _loads_later(os.path.realpath(path)):
        return verdict
    try:
        program_elf = elf.read(path)
    except (OSError, elf.ElfError):
        return verdict  # a script without #!, or an unreadable file: the kernel reports the error
    if program_elf.static:
        verdict.notes.append(
            f"{name} is statically linked: no library can be preloaded into it, "
            "so it runs without Millrace; link it dynamically"
        )
        verdict.unreachable.append(f"{name} is statically linked")
        return verdict
    if not _same_machine(program_elf, prefix):
        verdict.notes.append(f"{name} is for another kind of processor, so it runs without Millrace")
        verdict.unreachable.append(f"{name} is for another kind of processor than {prefix.preload}")
        return verdict
    if mpi_only or elf.mpi_family(program_elf, environment.get("LD_LIBRARY_PATH", ""))[0] is not None:
        _check_mpi(name, program_elf, launcher, prefix, environment, verdict)
    return verdict


def _same_machine(program_elf: elf.Elf, prefix: Prefix) -> bool:
    try:
        library = elf.read(prefix.preload)
    except (OSError, elf.ElfError):
        return True
    return (program_elf.bits, program_elf.machine) == (library.bits, library.machine)


def _check_mpi(
    name: str,
    program_elf: elf.Elf,
    launcher: Launcher | None,
    prefix: Prefix,
    environment: Mapping[str, str],
    verdict: Verdict,
) -> None:
    family, library = elf.mpi_family(program_elf, environment.get("LD_LIBRARY_PATH", ""))
    if family is None:
        verdict.notes.append(
            f"{name} links no MPI library: unless it loads one while it runs, Millrace does not accelerate it"
        )
        return
    if launcher and launcher.family and family in _RIGHT_LAUNCHER and family != launcher.family:
        verdict.errors.append(_mismatch(name, family, library, launcher))
        return
    implementation = prefix.implementation(family)
    if not os.path.isfile(implementation):
        verdict.notes.append(
            f"{name} links {FAMILY_NAMES[family]} ({library}), but this Millrace was built without "
            f"{os.path.basename(implementation)}: it runs with the MPI library alone; build Millrace with that MPI"
        )


def all_programs(
    names: Sequence[str],
    launcher: Launcher | None,
    prefix: Prefix,
    environment: Mapping[str, str],
    mpi_only: bool = True,
) -> Verdict:
    """Checks every program of the command. Ranks with and without Millrace cannot work together in one job."""
    verdict = Verdict()
    each = [program(name, launcher, prefix, environment, mpi_only) for name in dict.fromkeys(names)]
    mixed = any(one.unreachable for one in each) and any(not one.unreachable for one in each)
    for one in each:
        verdict.errors += one.errors
        if not mixed:
            verdict.notes += one.notes
            continue
        verdict.notes += [] if one.unreachable else one.notes
        verdict.errors += [
            f"{reason}: it would run without Millrace beside programs with Millrace, in one MPI job. Start this job "
            "without `millrace run`, or use --force: all its ranks then use the MPI library alone"
            for reason in one.unreachable
        ]
    return verdict
