# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs ReFrame on the waiting cases, shows the progress, and keeps the reasons of failures."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from millrace.tools.evaluate import session as sessions
from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.session import Session
from millrace.tools.session import end

# ReFrame's lines: "[ RUN      ] Benchmark %case_name=ior... /1234 @...", "[       OK ] ( 3/20) Benchmark ..."
_LINE = re.compile(r"\[\s*(RUN|OK|FAIL|SKIP|ABORT)\s*\]\s*(?:\(\s*\d+/\d+\))?.*?%case_name=(\S+)")
_MARK = {"OK": "[green]ok[/]", "FAIL": "[red]failed[/]", "SKIP": "[yellow]skipped[/]", "ABORT": "[red]stopped[/]"}
_PR_SET_PDEATHSIG = 1


def require() -> None:
    """Raises EvaluationError with advice if ReFrame is not installed."""
    if importlib.util.find_spec("reframe") is None:
        raise EvaluationError(
            "ReFrame is not installed for this Python: "
            f"{sys.executable} -m pip install 'millrace-io[evaluate]' (or reframe-hpc)"
        )


def mend_database(path: Path) -> str:
    """Moves a damaged database of ReFrame aside; it is only a history. Returns a message for the user."""
    if not path.is_file():
        return ""
    try:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            verdict = connection.execute("PRAGMA quick_check").fetchone()[0]
    except sqlite3.DatabaseError as error:
        verdict = str(error)
    if verdict == "ok":
        return ""
    aside = path.with_suffix(".damaged.db")
    path.replace(aside)
    return f"{path} is damaged ({verdict}): it was moved to {aside.name}, and a new one begins; no results are lost"


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _environment(session: Session, limits: bool) -> dict[str, str]:
    # A user's own settings of ReFrame would change the meaning of this suite.
    found = {k: v for k, v in os.environ.items() if not k.startswith("RFM_") and k != "LD_PRELOAD"}
    package = str(Path(__file__).resolve().parents[3])
    found["PYTHONPATH"] = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    found["MILLRACE_EVALUATE_SESSION"] = str(session.folder.resolve())
    found["MILLRACE_EVALUATE_LIMITS"] = "1" if limits else "0"
    return found


def command(session: Session, configuration: Path, report: Path) -> list[str]:
    folder = session.folder.resolve() / "reframe"
    return [
        sys.executable,
        "-c",
        "import sys; from reframe.frontend.cli import main; sys.exit(main())",
        "-C",
        str(configuration),
        "--system",
        str(session.document.get("system", "millrace")),
        "-c",
        str(Path(__file__).with_name("suite.py")),
        "--prefix",
        str(folder),
        "--perflogdir",
        str(folder / "perflogs"),
        "--report-file",
        str(report),
        "--exec-policy",
        "serial",
        "--nocolor",
        "-r",
    ]


def run(session: Session, configuration: Path, *, limits: bool, console: Console) -> None:
    """One run of ReFrame over the limits, or over all other cases; the suite itself stores cases that pass."""
    waiting = session.waiting(limits=limits)
    if not waiting:
        return
    report = session.folder.resolve() / "reframe" / f"report-{'limits' if limits else 'benchmarks'}.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    child = subprocess.Popen(
        command(session, configuration, report),
        env=_environment(session, limits),
        cwd=report.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    lines: list[str] = []
    try:
        with _progress(console, "limits" if limits else "benchmarks", len(waiting)) as tell:
            for line in child.stdout or ():
                lines.append(line)
                found = _LINE.search(line)
                if found:
                    tell(found[1], found[2])
        child.wait()
    except BaseException:
        end(child, bound_s=15)  # ReFrame cancels its jobs on SIGTERM
        raise
    if report.is_file():
        _keep_failures(session, report)
    elif child.returncode != 0:
        tail = " | ".join(line.strip() for line in lines[-4:] if line.strip())
        raise EvaluationError(f"ReFrame ended with status {child.returncode} and no report: {tail}")
    for case in session.waiting(limits=limits):
        if session.result(case.name) is None:
            session.store(case, sessions.FAILED, "ReFrame did not run this case; run `millrace evaluate` again")


@contextlib.contextmanager
def _progress(console: Console, what: str, total: int) -> Iterator[object]:
    bar = Progress(
        TextColumn("{task.description:<44}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=total)

        def tell(event: str, name: str) -> None:
            if event == "RUN":
                bar.update(task, description=name)
            else:
                bar.advance(task)
                bar.console.print(f"{_MARK[event]} {name}", highlight=False)

        yield tell


def _keep_failures(session: Session, report: Path) -> None:
    """Reasons from ReFrame's report, for cases that it ran and that did not pass."""
    try:
        runs = json.loads(report.read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError) as error:
        raise EvaluationError(f"{report}: ReFrame's report cannot be read: {error}") from None
    known = {case.name: case for case in session.cases}
    for row in (row for one in runs for row in one.get("testcases", [])):
        name = (row.get("check_params") or {}).get("case_name") or ""
        found = re.search(r"%case_name=(\S+)", str(row.get("display_name", "")))
        name = name or (found[1] if found else "")
        case = known.get(name)
        if case is None or row.get("result") == "pass":
            continue
        info = row.get("fail_info") or {}
        reason = str(row.get("fail_reason") or info.get("exc_value") or row.get("result") or "failed").strip()
        status = sessions.SKIPPED if row.get("result") == "skip" else sessions.FAILED
        session.store(case, status, f"{row.get('fail_phase') or 'run'}: {reason}"[:600])
