# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace run`: prepares the environment, and replaces itself by the user's command."""

from __future__ import annotations

import os
import sys

from millrace import prefix
from millrace.run import checks, container, journals, launcher, settings
from millrace.run.launcher import which

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXIT_BAD_USE = 2
EXIT_CANNOT_EXECUTE = 126
EXIT_NOT_FOUND = 127


class RunError(Exception):
    """The run cannot begin; carries the exit status."""

    def __init__(self, message: str, status: int = EXIT_BAD_USE) -> None:
        super().__init__(message)
        self.status = status


class Request:
    """The options of the command line."""

    def __init__(
        self,
        command: list[str],
        options: Mapping[str, object],
        config: str | os.PathLike[str] | None = None,
        stats: str | None = None,
        trace: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> None:
        """`stats`: None = off, "" = table only, else the file for the merged JSON."""
        self.command, self.options, self.config = command, options, config
        self.stats, self.trace, self.force = stats, trace, force


class Plan:
    """A command and its environment, ready to start."""

    def __init__(
        self,
        command: list[str],
        environment: dict[str, str],
        notes: list[str],
        start: launcher.Launcher | None = None,
        inside: container.Container | None = None,
    ) -> None:
        self.command, self.environment, self.notes, self.launcher = command, environment, notes, start
        self.container = inside


def tell(message: str) -> None:
    """One line on stderr; stdout belongs to the program."""
    print(f"millrace: {message}", file=sys.stderr, flush=True)


def preload_value(libraries: Sequence[str], existing: str | None) -> str:
    """The value of LD_PRELOAD: Millrace's libraries first, then the user's; no library twice."""
    rest = [word for word in (existing or "").replace(" ", ":").split(":") if word and word not in libraries]
    return ":".join([*libraries, *rest])


def wants_posix(configuration: settings.Configuration) -> bool:
    """True if plain files are accelerated too."""
    values = configuration.values
    return values["posix"].value == "1" or any(values[name].value != "" for name in ("posix_async", "posix_stage"))


def build_environment(
    base: Mapping[str, str], found: prefix.Prefix, configuration: settings.Configuration
) -> dict[str, str]:
    """The variables that the run sets."""
    variables = dict(configuration.changed())
    libraries = [found.preload, found.posix_preload] if wants_posix(configuration) else [found.preload]
    variables["LD_PRELOAD"] = preload_value(libraries, base.get("LD_PRELOAD"))
    variables.setdefault("MILLRACE_JOB", os.urandom(16).hex())
    if "PNETCDF_HINTS" not in base:
        # PnetCDF >= 1.15 does not use MPI-IO without this setting.
        variables["PNETCDF_HINTS"] = "nc_driver=mpiio"
    return variables


def _check_places(request: Request) -> None:
    """Checks the output files now, not after a long run."""
    for option, place in (("--stats", request.stats), ("--trace", request.trace)):
        if not place:
            continue
        if os.path.isdir(place):
            raise RunError(f"{option} {place}: this is a folder; give a file")
        folder = os.path.dirname(os.path.abspath(place))
        if not os.path.isdir(folder):
            raise RunError(f"{option} {place}: the folder {folder} does not exist")
        if not os.access(place if os.path.exists(place) else folder, os.W_OK):
            raise RunError(f"{option} {place}: the file cannot be written; give another one")


def prepare(request: Request, base: Mapping[str, str]) -> Plan:
    """Validates the request; raises RunError before any program is started."""
    if not request.command:
        raise RunError("no program given; use: millrace run [options] -- mpiexec -n 4 ./app")
    try:
        configuration = settings.resolve(request.options, request.config, base)
    except settings.SettingError as error:
        raise RunError(str(error)) from None
    _check_places(request)
    name = request.command[0]
    if which(name, base.get("PATH")) is None:
        exists = os.path.isfile(name)
        raise RunError(
            f"{name} {'is not executable' if exists else 'was not found'}",
            EXIT_CANNOT_EXECUTE if exists else EXIT_NOT_FOUND,
        )
    if base.get("MILLRACE") == "0":
        return Plan(request.command, dict(base), ["MILLRACE=0 is set: the program runs without Millrace"])
    try:
        found = prefix.find(base)
    except prefix.PrefixError as error:
        raise RunError(str(error)) from None
    if found.obstacle:
        raise RunError(found.obstacle)
    start = launcher.detect(request.command, base)
    posix = wants_posix(configuration)
    if posix and not os.path.isfile(found.posix_preload):
        raise RunError(f"{found.posix_preload} is missing; build or install Millrace again, or leave out --posix")
    parts = launcher.command_lines(request.command, start)
    inside = container.find(parts)
    if inside and inside.apart and start:
        options = " ".join(inside.apart)
        note = f"{inside.name} {options} keeps the ranks of a node apart: the program runs without Millrace"
        return Plan(request.command, dict(base), [note])
    # Programs in containers are not looked at: their files are in the image.
    names = [words[0] for words in parts if not (inside and container.is_container(words))]
    verdict = checks.all_programs(names, start, found, base, mpi_only=not posix)
    if verdict.errors and not request.force:
        raise RunError("; ".join(verdict.errors))
    notes = configuration.warnings + verdict.notes + verdict.errors
    if weak := journals.warning(configuration):
        notes.append(weak)
    variables = build_environment(base, found, configuration)
    if inside:
        variables, line = container.enter(inside, found.root, variables, base, alone=not names)
        notes.append(line)
    replaced = launcher.overriding(request.command, start, "LD_PRELOAD", base)
    if replaced:
        notes.append(
            f"'{replaced}' keeps LD_PRELOAD={found.preload} from the ranks: Millrace "
            "stays out; put a library of your own into the environment's LD_PRELOAD instead"
        )
    environment = {**base, **variables}
    # For this command only: otherwise every rank would warn of an unknown setting.
    environment.pop("MILLRACE_PREFIX", None)
    # Also MILLRACE, and variables of the agent (MILLRACED_LOG), because ranks start it on every node.
    ours = {name for name in environment if f"{name}_".startswith(("MILLRACE_", "MILLRACED_"))}
    command = launcher.forward(request.command, start, sorted(ours | variables.keys()))
    return Plan(command, environment, notes, start, inside)


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
    from millrace.run import supervise

    return supervise.supervise(plan, request)


def _replace(plan: Plan) -> int:
    import _signal  # `signal` wraps this module in enumerations, which take longer to import

    sys.stdout.flush()
    sys.stderr.flush()
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)  # Python ignores SIGPIPE, and the child would inherit that
    try:
        os.execvpe(plan.command[0], plan.command, plan.environment)
    except OSError as error:
        tell(f"{plan.command[0]}: {error.strerror}")
        return EXIT_CANNOT_EXECUTE
