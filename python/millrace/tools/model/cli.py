# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Options of `millrace model`; its code is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import List

import typer


def add_to(app: typer.Typer) -> None:
    """Adds the command to the program's own."""
    app.command()(model)


def model(
    machine: str | None = typer.Argument(None, metavar="[MACHINE]", help="A machine of --list, or your YAML file."),
    method: List[str] | None = typer.Option(
        None, "--method", "-m", metavar="NAME", help="Methods or strategies (default: all)."
    ),
    direction: str = typer.Option("write", "--direction", help="read or write, for engines and clusters."),
    ranks: int = typer.Option(0, "--ranks", "-n", help="MPI processes (default: as many as fit)."),
    size: str = typer.Option("1GiB", "--size", "-s", metavar="SIZE", help="Each rank's bytes of a checkpoint."),
    buffer: str | None = typer.Option(
        None, "--buffer", "-b", metavar="SIZE", help="C library's buffer (512KiB), or sort buffer (1GiB)."
    ),
    mapping: str | None = typer.Option(
        None, "--mapping", metavar="LIST", help="Engines that share the ranks: 3,4 (default: one by one)."
    ),
    language: str = typer.Option("c", "--language", help="c or fortran, for engines."),
    network: str = typer.Option("ethernet", "--network", help="ethernet or myrinet, for a ring."),
    nodes: int = typer.Option(0, "--nodes", help="Nodes of the ring, or of the job (default: the machine's)."),
    pattern: str = typer.Option(
        "32KiB,4MiB", "--pattern", metavar="T,B", help="IOR's transfer and block, or simple-A, full-B ... of BT-IO."
    ),
    servers: str = typer.Option(
        "1", "--servers", metavar="LIST", help="File servers; on a cluster several numbers: 1,2,4."
    ),
    topology: List[str] | None = typer.Option(
        None, "--topology", metavar="NAME", help="direct, tree or ring, for clusters (default: all)."
    ),
    interval: str | None = typer.Option(
        None, "--interval", metavar="TIME", help="Time between checkpoints: also show their share of the run."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
    published: bool = typer.Option(False, "--published", help="Show all values of the papers beside the model's."),
    figures: Path | None = typer.Option(
        None, "--figures", metavar="FOLDER", help="Write the papers' figures as SVG, and a page about them."
    ),
    from_session: Path | None = typer.Option(
        None,
        "--from-session",
        metavar="FOLDER",
        help="Describe the machine that `millrace evaluate` measured, as YAML.",
    ),
    show: bool = typer.Option(False, "--list", help="List the machines, or the numbers of one with their sources."),
) -> None:
    """Predict the time of I/O methods on the papers' machines, or on one that you describe."""
    from millrace.tools.model import main

    request = main.Request(
        machine=machine or "",
        methods=tuple(method or ()),
        direction=direction,
        ranks=ranks,
        size=size,
        buffer=buffer,
        mapping=mapping,
        language=language,
        network=network,
        nodes=nodes,
        pattern=pattern,
        servers=servers,
        topologies=tuple(topology or ()),
        interval=interval,
        as_json=as_json,
    )
    raise typer.Exit(main.run(request, published, figures, from_session, show))
