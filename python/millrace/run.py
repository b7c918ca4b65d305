# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace run`: prepares the environment and becomes the user's command."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millrace import checks, launcher, prefix, settings, stats, trace
from millrace.signals import FORWARDED

EXIT_BAD_USE = 2
EXIT_CANNOT_EXECUTE = 126
EXIT_NOT_FOUND = 127
_WATCHED = {signal.SIGCHLD, *FORWARDED}
_FROM_KERNEL = 0x80  # si_code of a signal that the terminal sent, to the whole process group


class RunError(Exception):
    """The run cannot begin; carries the exit status."""

    def __init__(self, message: str, status: int = EXIT_BAD_USE) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Request:
    """What the command line asked for."""

    command: list[str]
    options: dict[str, object] = field(default_factory=dict)
    config: Path | None = None
    stats: str | None = None  # None = off, "" = table only, else the file for the merged JSON
    trace: Path | None = None
    force: bool = False


@dataclass
class Plan:
    """A command and its environment, ready to start."""

    command: list[str]
    environment: dict[str, str]
    notes: list[str] = field(default_factory=list)
    launcher: launcher.Launcher | None = None


def tell(message: str) -> None:
    """One line on stderr; stdout belongs to the program."""
    print(f"millrace: {message}", file=sys.stderr, flush=True)


def preload_value(libraries: Sequence[Path], existing: str | None) -> str:
    """Millrace first, what the user had after it; never twice."""
    ours = [str(library) for library in libraries]
    rest = [word for word in (existing or "").replace(" ", ":").split(":") if word and word not in ours]
    return ":".join([*ours, *rest])


def wants_posix(configuration: settings.Configuration) -> bool:
    """Whether plain files are accelerated too."""
    return configuration.values["posix"].value == "1" or configuration.values["posix_async"].value != ""


def build_environment(
    base: Mapping[str, str], found: prefix.Prefix, configuration: settings.Configuration
) -> dict[str, str]:
    """The variables to set, and nothing else."""
    variables = dict(configuration.changed())
    libraries = [found.preload, found.posix_preload] if wants_posix(configuration) else [found.preload]
    variables["LD_PRELOAD"] = preload_value(libraries, base.get("LD_PRELOAD"))
    variables.setdefault("MILLRACE_JOB", secrets.token_hex(16))
    variables.setdefault("MILLRACE_AGENT", str(found.agent))
    if "PNETCDF_HINTS" not in base:
        # PnetCDF >= 1.15 goes past MPI-IO unless it is told not to.
        variables["PNETCDF_HINTS"] = "nc_driver=mpiio"
    return variables


def _check_places(request: Request) -> None:
    """Output files are refused now rather than after an hour's run."""
    for option, path in (("--stats", request.stats), ("--trace", request.trace)):
        if not path:
            continue
        place = Path(path)
        if place.is_dir():
            raise RunError(f"{option} {place}: is a folder; give a file")
        folder = place.absolute().parent
        if not folder.is_dir():
            raise RunError(f"{option} {place}: the folder {folder} does not exist")
        if not os.access(place if place.exists() else folder, os.W_OK):
            raise RunError(f"{option} {place}: cannot be written")


def prepare(request: Request, base: Mapping[str, str]) -> Plan:
    """Validates everything; raises RunError before anything is started."""
    if not request.command:
        raise RunError("no program given; use: millrace run [options] -- mpiexec -n 4 ./app")
    try:
        configuration = settings.resolve(request.options, request.config, base)
    except settings.SettingError as error:
        raise RunError(str(error)) from None
    _check_places(request)
    name = request.command[0]
    if shutil.which(name, path=base.get("PATH")) is None:
        exists = Path(name).is_file()
        raise RunError(
            f"{name} {'is not executable' if exists else 'was not found'}",
            EXIT_CANNOT_EXECUTE if exists else EXIT_NOT_FOUND,
        )
    if base.get(settings.SWITCH_VARIABLE) == "0":
        return Plan(request.command, dict(base), ["MILLRACE=0 is set: the program runs without Millrace"])
    try:
        found = prefix.find(base)
    except prefix.PrefixError as error:
        raise RunError(str(error)) from None
    if found.obstacle:
        raise RunError(found.obstacle)
    start = launcher.detect(request.command, base)
    posix = wants_posix(configuration)
    if posix and not found.posix_preload.is_file():
        raise RunError(f"{found.posix_preload} is missing; build or install Millrace again, or leave out --posix")
    verdict = checks.all_programs(launcher.programs(request.command, start), start, found, base, mpi_only=not posix)
    if verdict.errors and not request.force:
        raise RunError("; ".join(verdict.errors))
    notes = configuration.warnings + verdict.notes + verdict.errors
    variables = build_environment(base, found, configuration)
    replaced = launcher.overriding(request.command, start, "LD_PRELOAD", base)
    if replaced:
        notes.append(
            f"'{replaced}' keeps LD_PRELOAD={found.preload} from the ranks: Millrace "
            "stays out; put a library of your own into the environment's LD_PRELOAD instead"
        )
    environment = {**base, **variables}
    # For this command only; every rank would otherwise warn of a setting that does not exist.
    environment.pop("MILLRACE_PREFIX", None)
    # Also MILLRACE and what only the agent reads (MILLRACED_LOG): ranks start it, on every node.
    ours = {name for name in environment if re.match(r"MILLRACED?(_|$)", name)}
    command = launcher.forward(request.command, start, sorted(ours | variables.keys()))
    return Plan(command, environment, notes, start)


def run(request: Request) -> int:
    """Starts the command. Returns its exit status, or does not return at all (exec)."""
    try:
        plan = prepare(request, os.environ)
    except RunError as error:
        tell(str(error))
        return error.status
    for note in plan.notes:
        tell(note)
    if request.stats is None and request.trace is None:
        return _replace(plan)
    return _supervise(plan, request)


def _replace(plan: Plan) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and that would be inherited
    try:
        os.execvpe(plan.command[0], plan.command, plan.environment)
    except OSError as error:
        tell(f"{plan.command[0]}: {error.strerror}")
        return EXIT_CANNOT_EXECUTE


def _report_folder(plan: Plan) -> Path:
    """Where processes leave their reports during the run: with a launcher, all nodes have to see it."""
    if plan.launcher is not None:
        with contextlib.suppress(OSError):
            return Path(tempfile.mkdtemp(prefix=".millrace-run-", dir=Path.cwd()))
    return Path(tempfile.mkdtemp(prefix="millrace-run-"))


def _supervise(plan: Plan, request: Request) -> int:
    """Runs the command as a child, shows reports as they arrive, and ends as the child ended."""
    folder = _report_folder(plan)
    collector = None
    # Blocked before any thread starts: threads inherit it, or one of them would swallow the signals that
    # _child() waits for. Unblocked after the clean-up: a signal that came meanwhile ends this process then.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        if request.stats is not None:
            lines = folder / "stats"
            if plan.launcher is None:
                lines.touch(mode=0o600)
            else:
                lines.mkdir(mode=0o700)  # a file for each node
            plan.environment["MILLRACE_STATS"] = str(lines)
            collector = stats.Collector(lines, Path(request.stats) if request.stats else None)
            collector.start()
        if request.trace is not None:
            (folder / "trace").mkdir(mode=0o700)
            plan.environment["MILLRACE_TRACE"] = str(folder / "trace")
        command = launcher.forward(
            plan.command,
            plan.launcher,
            [name for name in ("MILLRACE_STATS", "MILLRACE_TRACE") if name in plan.environment],
        )
        status = _child(command, plan.environment, before)
        stats.wait_for_agents(plan.environment.get("MILLRACE_JOB", ""), stop=_interrupted)
        if collector is not None:
            collector.finish()
        if request.trace is not None:
            events = trace.merge(folder / "trace", request.trace)
            tell(f"{events} events in {request.trace}; open it at https://ui.perfetto.dev")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return end_as(status)


def _interrupted() -> bool:
    """True once somebody wants this process to end."""
    return bool(signal.sigpending() & {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def _child(command: list[str], environment: dict[str, str], mask: set[signal.Signals]) -> int:
    """Starts the child and passes signals on until it has ended; returns its wait status.

    The caller has blocked _WATCHED in all threads; the child gets `mask`.
    """
    try:
        pid = os.posix_spawnp(command[0], command, environment, setsigmask=mask, setsigdef=[signal.SIGPIPE])
    except OSError as error:
        tell(f"{command[0]}: {error.strerror}")
        return EXIT_CANNOT_EXECUTE << 8  # as waitpid gives an exit status
    while True:
        info = signal.sigwaitinfo(_WATCHED)
        if info.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == pid:
                return status
        elif info.si_code != _FROM_KERNEL:
            os.kill(pid, info.si_signo)


def end_as(status: int) -> int:
    """The child's exit status; a child that a signal ended ends this process in the same way."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        sys.stdout.flush()
        sys.stderr.flush()
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))  # one is enough
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return 128 + number  # only where the signal does not end a process
    return os.waitstatus_to_exitcode(status)
