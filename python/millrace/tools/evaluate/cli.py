# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Options of `millrace evaluate`, `compare` and `advise`; a command imports its code when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import List

import typer


def add_to(app: typer.Typer) -> None:
    """Adds the commands to the program's own."""
    app.command()(evaluate)
    app.command()(compare)
    app.command()(advise)


def evaluate(
    profile: str = typer.Option(
        "quick", "--profile", "-p", help="quick: under 5 minutes on 2 processors; full; paper: the papers' sizes, cut."
    ),
    output: Path = typer.Option(Path("millrace-evaluation"), "--output", "-o", help="The session's folder."),
    target: Path | None = typer.Option(
        None,
        "--target",
        "-t",
        metavar="FOLDER",
        help="Folder on the storage to evaluate (default: a folder of the session).",
    ),
    mpi: List[str] | None = typer.Option(
        None, "--mpi", metavar="NAME", help="mpich, openmpi (default: all that are installed)."
    ),
    only: List[str] | None = typer.Option(
        None, "--only", metavar="TEXT", help="Run only the limits, and the cases whose name contains TEXT."
    ),
    fresh: bool = typer.Option(False, "--fresh", help="Start again, even if the folder holds a session."),
    slurm: str | None = typer.Option(
        None,
        "--slurm",
        metavar="OPTIONS",
        help="Run as jobs of Slurm with these options: '-p batch -A project', or ''.",
    ),
    site: Path | None = typer.Option(None, "--site", metavar="FILE", help="A ReFrame configuration of your own."),
    machine: List[Path] | None = typer.Option(
        None,
        "--machine",
        metavar="YAML",
        help="A machine to show beside this one.",
    ),
    form: List[str] | None = typer.Option(
        None, "--format", "-f", metavar="NAME", help="html (default), md, json, parquet; more than once for several."
    ),
    report_only: bool = typer.Option(False, "--report-only", help="Write the report again, without measurements."),
    show: bool = typer.Option(False, "--list", help="List the cases that would run here, and run none."),
) -> None:
    """Measure this machine's I/O, its distance from the limits, and which I/O method pays; write a report.

    Stopped or killed, the same command goes on where it was.
    """
    from millrace.tools.evaluate import main

    request = main.Request(
        profile,
        output,
        target,
        list(mpi or []),
        list(only or []),
        fresh,
        slurm,
        site,
        list(machine or []),
        list(form or ["html"]),
        report_only,
    )
    raise typer.Exit(main.show_plan(request) if show else main.run(request))


def compare(
    a: Path = typer.Argument(..., help="The reference: a session's folder, or a file of --format json."),
    b: Path = typer.Argument(..., help="The other one."),
    tolerance: float = typer.Option(0.05, "--tolerance", help="Ignore differences up to this share."),
    everything: bool = typer.Option(False, "--all", help="Also show figures that are the same."),
    sites: bool = typer.Option(False, "--sites", help="Show two machines side by side; judge nothing."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Compare two evaluations: figures that differ by more than their noise."""
    from millrace.tools.evaluate import compare as comparison

    if sites:
        from millrace.tools.evaluate import sites as beside

        raise typer.Exit(beside.run(a, b, as_json))
    raise typer.Exit(comparison.run(a, b, tolerance, everything, as_json))


def advise(
    application: Path = typer.Argument(
        ...,
        metavar="FILE",
        help="A description in YAML (docs/how-to/advise.md), or a .darshan log.",
    ),
    session: Path = typer.Option(
        Path("millrace-evaluation"), "--session", "-s", help="The session's folder of an evaluation."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Advise an I/O method and settings for an application, with the reasons."""
    from millrace.tools.evaluate import advise as advice

    raise typer.Exit(advice.run(application, session, as_json))
