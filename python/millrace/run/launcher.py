# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The launcher of the ranks: Open MPI's mpirun, MPICH's hydra, Slurm's srun, or none."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES = ("mpirun", "mpiexec", "orterun", "prterun", "prun", "srun")
_NAMES_WITH_MORE = tuple(name + mark for name in _NAMES for mark in ".-_")  # mpiexec.hydra, mpirun-5.0
_VERSION_TIMEOUT_S = 10

# The number of arguments of each option that does not take exactly one.
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


# Launchers known by name, also through links. Programs with other names have to print their version.
_KNOWN = {"orterun": "openmpi", "prterun": "openmpi", "prun": "openmpi", "mpiexec.hydra": "mpich", "srun": "slurm"}


class Launcher:
    """A launcher that was found at the start of a command."""

    def __init__(self, path: str, kind: str, version: str | None) -> None:
        """`kind`: openmpi, mpich (hydra of MPICH, Intel, MVAPICH), slurm, unknown. `version` None: ask when needed."""
        self.path, self.kind, self._version = path, kind, version

    @property
    def version(self) -> str:
        if self._version is None:
            self._version = inspect(self.path).version
        return self._version

    @property
    def family(self) -> str | None:
        """The MPI that a program must link; None where any will do (Slurm) or it is not known."""
        return self.kind if self.kind in ("openmpi", "mpich") else None


def _known(path: str) -> str | None:
    """The kind of a launcher that is known by name; None for scripts, which may start any launcher."""
    real = os.path.realpath(path)
    try:
        with open(real, "rb") as file:
            is_program = file.read(4) == b"\x7fELF"
    except OSError:
        return None
    return _KNOWN.get(os.path.basename(real)) if is_program else None


def _classify(output: str) -> tuple[str, str]:
    """Kind and version from the output of `--version`."""
    import re

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
        return "slurm", ""  # without a configuration, Slurm prints only errors
    return "unknown", version


def inspect(path: str, environment: Mapping[str, str] | None = None) -> Launcher:
    """Asks a launcher for its kind and version; without an answer it is `unknown`."""
    import subprocess

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
    name = os.path.basename(command[0])
    if name not in _NAMES and not name.startswith(_NAMES_WITH_MORE):
        return None
    path = which(command[0], environment.get("PATH"))
    kind = _known(path) if path else None
    if kind is not None:
        return Launcher(path, kind, None)  # the question would take as long as a small program
    return inspect(path, environment) if path else None


def programs(command: Sequence[str], launcher: Launcher | None) -> list[str]:
    """The programs that the command starts, as they are written (several with `:`)."""
    return [line[0] for line in command_lines(command, launcher)]


def command_lines(command: Sequence[str], launcher: Launcher | None) -> list[list[str]]:
    """The programs that the command starts, each with its arguments.

    Best effort: an option of a launcher that this does not know may hide a program; it is then left out.
    """
    if launcher is None:
        return [list(command)]
    parts = [(part, _program_at(part, launcher)) for part in _with_files(_split(command[1:]), launcher)]
    return [part[place:] for part, place in parts if place < len(part)]


def _with_files(parts: list[list[str]], launcher: Launcher) -> list[list[str]]:
    """The parts, with the lines of files (-configfile, --app) in place of the words that name these."""
    option = {"mpich": ("-configfile",), "openmpi": ("--app", "-app")}.get(launcher.kind, ())
    found: list[list[str]] = []
    for part in parts:
        place = next((i for i, word in enumerate(part[:-1]) if word in option), None)
        if place is None:
            found.append(part)
            continue
        import shlex

        try:
            with open(part[place + 1], encoding="utf-8") as file:
                lines = [shlex.split(line, comments=True) for line in file]
        except (OSError, ValueError):
            continue  # the launcher reports it
        found += [piece for line in lines if line for piece in _split(line)]
    return found


def _program_at(part: Sequence[str], launcher: Launcher) -> int:
    """The index behind the launcher's own words."""
    no_argument = _NO_ARGUMENT.get(launcher.kind, set())
    i = 0
    while i < len(part):
        token = part[i]
        if not token.startswith("-"):
            return i
        if "=" in token and token.startswith("--") or token in no_argument:
            i += 1
        elif token in _TWO_ARGUMENTS:
            i += 3
        elif launcher.kind == "slurm" and (len(token) > 2 and token[1].isalpha() or token.startswith("--")):
            i += 1 if not token.startswith("--") or "=" in token else 2
        else:
            i += 2
    return len(part)


def _split(tokens: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == ":":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def forward(command: Sequence[str], launcher: Launcher | None, variables: Sequence[str]) -> list[str]:
    """The command that carries `variables` to every rank, on whatever node.

    Only Open MPI (4 and 5) needs help: it passes its own variables to other nodes, and others when told by -x, for
    each of several programs. Hydra and srun pass all, unless they are told not to (overriding()).
    """
    if launcher is None or launcher.kind != "openmpi":
        return list(command)
    words = [command[0]]
    for number, part in enumerate(_split(command[1:])):
        own = part[: _program_at(part, launcher)]
        given = {own[i + 1].split("=", 1)[0] for i, token in enumerate(own[:-1]) if token in ("-x", "--x")}
        words += [":"] if number else []
        words += [word for name in variables if name not in given for word in ("-x", name)] if part else []
        words += part
    return words


def overriding(
    command: Sequence[str], launcher: Launcher | None, variable: str, environment: Mapping[str, str]
) -> str | None:
    """The words of the user's command, or the launcher's variable, that replace `variable` in the ranks or keep it
    from them. None if there are none."""
    if launcher is None:
        return None
    for i, token in enumerate(command[:-1]):
        following = command[i + 1]
        if token in ("-x", "--x") and following.startswith(variable + "="):
            return f"{token} {following}"
        if token in ("-genv", "-env", "--genv") and following == variable:
            return f"{token} {variable}"
        if token in ("-genvnone", "-envnone"):
            return token
        if token in ("-genvlist", "-envlist") and launcher.kind == "mpich" and variable not in following.split(","):
            return f"{token} {following}"
        if launcher.kind != "slurm":
            continue
        if token.startswith("--export=") and not _exports(token.removeprefix("--export="), variable):
            return token
        if token == "--export" and not _exports(following, variable):
            return f"{token} {following}"
    # sbatch --export=... sets it for every srun in the script.
    words = environment.get("SLURM_EXPORT_ENV")
    said = any(token.startswith("--export") for token in command)
    if launcher.kind == "slurm" and words and not said and not _exports(words, variable):
        return f"SLURM_EXPORT_ENV={words}"
    return None


def _exports(words: str, variable: str) -> bool:
    """True if srun passes the whole environment (ALL anywhere in the list) and leaves `variable` unchanged."""
    names = words.split(",")
    return "ALL" in names and not any(name.startswith(variable + "=") for name in names)


def which(name: str, path: str | None = None) -> str | None:
    """The program that a shell with PATH=`path` (None: this process's) uses for `name`; None if there is none. As
    shutil.which, without the archive formats that shutil loads."""
    if "/" in name:
        return name if _is_program(name) else None
    if path is None:
        path = os.environ.get("PATH", os.defpath)
    if not path or not name:
        return None
    return next((file for folder in path.split(":") if _is_program(file := os.path.join(folder, name))), None)


def _is_program(file: str) -> bool:
    return os.access(file, os.X_OK) and not os.path.isdir(file)
