# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What starts the ranks: Open MPI's mpirun, MPICH's hydra, Slurm's srun, or nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_NAMES = re.compile(r"^(mpirun|mpiexec|orterun|prterun|prun|srun)([.\-_].*)?$|^mpiexec\.|^mpirun\.")
_VERSION_TIMEOUT_S = 10

# How many arguments an option takes, where it is not one option = one argument.
_NO_ARGUMENT = {
    "openmpi": {
        "--oversubscribe",
        "-oversubscribe",
        "--allow-run-as-root",
        "-allow-run-as-root",
        "--bind-to-core",
        "--bynode",
        "--byslot",
        "-bynode",
        "-byslot",
        "--nolocal",
        "-nolocal",
        "--display-map",
        "--display-allocation",
        "--tag-output",
        "-tag-output",
        "--report-bindings",
        "-report-bindings",
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "--nooversubscribe",
        "-nooversubscribe",
        "--do-not-launch",
        "-d",
        "--debug-devel",
        "--use-hwthread-cpus",
        "-use-hwthread-cpus",
        "--timestamp-output",
        "--enable-recovery",
        "--get-stack-traces",
        "--continuous",
        "--forward-signals",
        "-V",
        "--version",
    },
    "mpich": {
        "-v",
        "-verbose",
        "--verbose",
        "-l",
        "-prepend-rank",
        "-info",
        "-usize-system",
        "-envall",
        "-genvall",
        "-envnone",
        "-genvnone",
        "-print-all-exitcodes",
        "-enable-x",
        "-disable-x",
        "-disable-auto-cleanup",
        "-disable-hostname-propagation",
        "-nolocal",
        "-s-all",
    },
    "slurm": {
        "-l",
        "--label",
        "-v",
        "--verbose",
        "-Q",
        "--quiet",
        "-u",
        "--unbuffered",
        "-K",
        "--exclusive",
        "--overlap",
        "-O",
        "--overcommit",
        "-s",
        "--oversubscribe",
        "--multi-prog",
        "-X",
        "-Z",
        "--pty",
        "--immediate",
        "-I",
        "-E",
        "-H",
        "--hold",
        "-W0",
        "--contiguous",
        "--exact",
    },
}
_TWO_ARGUMENTS = {"--mca", "-mca", "--gmca", "-gmca", "--prtemca", "--pmixmca", "-genv", "-env", "--tune2"}


@dataclass(frozen=True)
class Launcher:
    """A launcher that was found at the start of a command."""

    path: str
    kind: str  # openmpi, mpich (hydra of MPICH, Intel, MVAPICH), slurm, unknown
    version: str

    @property
    def family(self) -> str | None:
        """The MPI that a program must link; None where any will do (Slurm) or it is not known."""
        return self.kind if self.kind in ("openmpi", "mpich") else None


def _classify(output: str) -> tuple[str, str]:
    """Kind and version from what `--version` printed."""
    number = re.search(r"\d+\.\d+(\.\d+)?\S*", output)
    version = number[0] if number else ""
    if re.search(r"Open MPI|OpenRTE|open-mpi\.org|PRTE|prte", output):
        return "openmpi", version
    if "Intel" in output:
        return "mpich", "Intel MPI " + (re.search(r"Version (\S+)", output) or [None, version])[1]
    if "HYDRA" in output or "mpich" in output.lower():
        return "mpich", version
    if output.lower().startswith("slurm"):
        return "slurm", version
    if output.startswith("srun: "):
        return "slurm", ""  # no version without a configuration, only errors
    return "unknown", version


def inspect(path: str, environment: Mapping[str, str] | None = None) -> Launcher:
    """Asks a launcher what it is; one that does not say is `unknown`."""
    clean = {k: v for k, v in (os.environ if environment is None else environment).items() if k != "LD_PRELOAD"}
    try:
        done = subprocess.run(
            [path, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT_S,
            env=clean,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return Launcher(path, "unknown", "")
    kind, version = _classify(done.stdout + done.stderr)
    return Launcher(path, kind, version)


def detect(command: Sequence[str], environment: Mapping[str, str]) -> Launcher | None:
    """The launcher that `command` starts with, or None if it starts a program itself."""
    if not _NAMES.match(os.path.basename(command[0])):
        return None
    path = shutil.which(command[0], path=environment.get("PATH"))
    return inspect(path, environment) if path else None


def programs(command: Sequence[str], launcher: Launcher | None) -> list[str]:
    """The programs that the command starts, as they are written (several with `:`).

    Best effort: an option of a launcher that this does not know may hide a program; it is then left out.
    """
    if launcher is None:
        return [command[0]]
    no_argument = _NO_ARGUMENT.get(launcher.kind, set())
    found = []
    for part in _split(command[1:]):
        i = 0
        while i < len(part):
            token = part[i]
            if not token.startswith("-"):
                found.append(token)
                break
            if "=" in token and token.startswith("--") or token in no_argument:
                i += 1
            elif token in _TWO_ARGUMENTS:
                i += 3
            elif launcher.kind == "slurm" and (re.match(r"^-[A-Za-z].+", token) or token.startswith("--")):
                i += 1 if not token.startswith("--") or "=" in token else 2
            else:
                i += 2
    return found


def _split(tokens: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == ":":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def forward(command: Sequence[str], launcher: Launcher | None, variables: Sequence[str]) -> list[str]:
    """The command that carries `variables` to every rank.

    Only Open MPI needs help: it passes its own variables to other nodes, and others when told by -x.
    """
    if launcher is None or launcher.kind != "openmpi":
        return list(command)
    given = {command[i + 1].split("=", 1)[0] for i, token in enumerate(command[:-1]) if token in ("-x", "--x")}
    extra = [word for name in variables if name not in given for word in ("-x", name)]
    return [command[0], *extra, *command[1:]]


def overriding(command: Sequence[str], launcher: Launcher | None, variable: str) -> str | None:
    """The words of the user's own command that replace `variable` in the ranks, if there are any."""
    if launcher is None:
        return None
    for i, token in enumerate(command[:-1]):
        if token in ("-x", "--x") and command[i + 1].startswith(variable + "="):
            return f"{token} {command[i + 1]}"
        if token in ("-genv", "-env", "--genv") and command[i + 1] == variable:
            return f"{token} {variable}"
        if token in ("-genvnone", "-envnone"):
            return token
        if token.startswith("--export=") and launcher.kind == "slurm" and not token.startswith("--export=ALL"):
            return token
    return None
