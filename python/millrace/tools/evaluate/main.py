# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace evaluate`: looks at the machine, plans, measures the limits and then all other cases, writes the report."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from millrace import __version__, prefix
from millrace.run.command import EXIT_BAD_USE, tell
from millrace.tools.evaluate import drive, facts, plan, publish, site
from millrace.tools.evaluate import session as sessions
from millrace.tools.evaluate.case import Case
from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.session import Session
from millrace.tools.evaluate.tools import LAUNCHERS, Tools
from millrace.tools.model import described


@dataclass
class Request:
    """The options of the command line."""

    profile: str = "quick"
    output: Path = Path("millrace-evaluation")
    target: Path | None = None  # the folder under test; the session's own folder if not given
    mpis: list[str] = dataclasses.field(default_factory=list)
    only: list[str] = dataclasses.field(default_factory=list)
    fresh: bool = False
    slurm: str | None = None
    site: Path | None = None
    machines: list[Path] = dataclasses.field(default_factory=list)
    formats: list[str] = dataclasses.field(default_factory=lambda: ["html"])
    report_only: bool = False


def run(request: Request) -> int:
    """The whole evaluation; 0 if all that could run passed, 1 if something failed, 2 if it could not begin."""
    console = Console(stderr=True)
    try:
        publish.check_formats(request.formats)
        references = publish.references(request.machines)
        session = _session(request, console)
        if not request.report_only:
            _measure(session, request, console)
        written = publish.publish(session, request.formats, references)
        described.write(session.folder)
    except (EvaluationError, prefix.PrefixError) as error:
        tell(str(error))
        return EXIT_BAD_USE
    except OSError as error:
        tell(f"{error.filename or request.output}: {error.strerror}")
        return EXIT_BAD_USE
    except KeyboardInterrupt:
        tell(f"stopped; repeat the command to continue the session ({request.output})")
        return 130
    return _say(session, written)


def _session(request: Request, console: Console) -> Session:
    """The session in the output folder: a new one, or the existing one to continue."""
    if request.report_only:
        return Session.open(request.output)
    drive.require()
    if Session.is_there(request.output) and not request.fresh:
        session = Session.open(request.output)
        found = session.document.get("profile")
        if found != request.profile:
            raise EvaluationError(
                f"{request.output} holds a session of profile {found}, not {request.profile}: give another --output, "
                "or --fresh to start again"
            )
        passed = sum(result["status"] == sessions.PASSED for result in session.results())
        console.print(f"going on with the session in {request.output}: {passed} of {len(session.cases)} have passed")
        return session
    if request.fresh and Session.is_there(request.output):
        for name in ("results", "reframe"):
            shutil.rmtree(request.output / name, ignore_errors=True)
    return _plan(request)


def _plan(request: Request) -> Session:
    if request.profile not in plan.PROFILES:
        raise EvaluationError(f"profile {request.profile!r} is unknown: use one of {', '.join(plan.PROFILES)}")
    found = prefix.find()
    target = request.target or request.output / "work"
    target.mkdir(parents=True, exist_ok=True)
    if not os.access(target, os.W_OK):
        raise EvaluationError(f"{target} is not writable: give --target a folder on the storage to evaluate")
    tools = Tools.here(found, target.resolve(), request.slurm is not None or request.site is not None)
    for mpi in request.mpis:
        if mpi not in LAUNCHERS:
            raise EvaluationError(f"MPI {mpi!r} is unknown: use one of {', '.join(LAUNCHERS)}")
    mpis = request.mpis or tools.mpis()[: 1 if request.profile == "quick" else None]
    profile = plan.fit(plan.PROFILES[request.profile], tools)
    cases = _chosen(plan.cases(profile, tools, mpis), request.only)
    return Session.create(
        request.output,
        {
            "version": __version__,
            "name": request.output.resolve().name,
            "profile": request.profile,
            "command": "millrace " + " ".join(sys.argv[1:]),
            "rule": plan.rule(profile),
            "target": str(target.resolve()),
            "mpis": mpis,
            "scheduler": request.slurm if request.slurm is not None else str(request.site or ""),
            "machine": facts.look(target.resolve()),
            "absent": plan.absent(tools, mpis),
        },
        cases,
    )


def _chosen(cases: list[Case], only: list[str]) -> list[Case]:
    """The limits, and the cases whose names contain one of the texts."""
    if not only:
        return cases
    found = [case for case in cases if any(text in case.name for text in only)]
    if not found:
        raise EvaluationError(f"no case has {' or '.join(only)} in its name; `millrace evaluate --list` shows them")
    return [case for case in cases if case.limit or case in found]


def _measure(session: Session, request: Request, console: Console) -> None:
    for note in filter(None, [drive.mend_database(session.database)]):
        tell(note)
    for name in session.damaged():
        tell(f"{session.path_of(name)} is damaged: {name} runs again")
    for case in session.cases:
        if case.missing:
            session.store(case, sessions.SKIPPED, case.missing)
    processors = len(os.sched_getaffinity(0))
    if request.site is not None:
        configuration = site.check_given(request.site)
    elif request.slurm is not None:
        configuration = site.write(session.folder.resolve(), site.slurm(session.folder.resolve(), request.slurm))
    else:
        configuration = site.write(session.folder.resolve(), site.local(session.folder.resolve(), processors))
    begin = time.monotonic()
    try:
        for limits in (True, False):
            drive.run(session, configuration, limits=limits, console=console)
    finally:
        session.document["seconds"] = session.document.get("seconds", 0) + time.monotonic() - begin
        session.document["ended"] = sessions.now()
        session.save()
        if request.target is None:
            shutil.rmtree(Path(session.document["target"]), ignore_errors=True)
            Path(session.document["target"]).mkdir(exist_ok=True)


def _say(session: Session, written: list[Path]) -> int:
    results = session.results()
    count = Counter(result["status"] for result in results)
    for result in results:
        if result["status"] == sessions.FAILED:
            tell(f"{result['case']['name']} failed: {result['reason']}")
    text = ", ".join(f"{count[status]} {status}" for status in (sessions.PASSED, sessions.FAILED, sessions.SKIPPED))
    print(f"{text}; {session.document.get('seconds', 0):.0f} s; {', '.join(map(str, written))}")
    return 1 if count[sessions.FAILED] or not count[sessions.PASSED] else 0


def show_plan(request: Request) -> int:
    """The cases of a profile on this machine, without running any."""
    from rich.table import Table

    try:
        tools = Tools.here(prefix.find(), (request.target or Path(".")).resolve(), request.slurm is not None)
        profile = plan.fit(plan.PROFILES[request.profile], tools)
        mpis = request.mpis or tools.mpis()[: 1 if request.profile == "quick" else None]
        cases = _chosen(plan.cases(profile, tools, mpis), request.only)
    except (EvaluationError, prefix.PrefixError) as error:
        tell(str(error))
        return EXIT_BAD_USE
    except KeyError:
        tell(f"profile {request.profile!r} is unknown: use one of {', '.join(plan.PROFILES)}")
        return EXIT_BAD_USE
    table = Table("case", "what", "ranks", "")
    for case in cases:
        table.add_row(case.name, case.about, str(case.ranks or "-"), case.missing)
    console = Console()
    console = console if console.is_terminal else Console(width=180)
    console.print(table)
    return 0
