# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The command line. Options are declared here; what they do is in the other modules."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import List

import typer

from millrace import __version__, prefix, settings
from millrace import run as running
from millrace.cluster import cli as cluster
from millrace.evaluate import cli as evaluation
from millrace.model import cli as modelling

app = typer.Typer(
    help="Millrace makes MPI programs write shared files at the speed of one sequential stream.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(cluster.app, name="cluster")
evaluation.add_to(app)
modelling.add_to(app)

_PASS_ON = {"allow_interspersed_args": False}
_STATS_TABLE = "-"  # what --stats without a file becomes


def _option(name: str, *more: str, metavar: str | None = None) -> object:
    setting = settings.BY_NAME[name]
    text = f"{setting.help} ({setting.default or 'none'}; {setting.allowed})"
    return typer.Option(None, setting.option_name, *more, metavar=metavar, help=text, show_default=False)


def _switch(name: str) -> object:
    setting = settings.BY_NAME[name]
    option = setting.option_name
    text = f"{setting.help} ({'on' if setting.default == '1' else 'off'})"
    return typer.Option(None, f"{option}/--no-{option[2:]}", help=text, show_default=False)


@app.command(context_settings=_PASS_ON, no_args_is_help=True)
def run(
    command: List[str] | None = typer.Argument(
        None, metavar="-- COMMAND...", help="The command: mpiexec -n 16 ./app, srun ./app, ./app ..."
    ),
    strategy: str | None = _option("strategy", metavar="NAME"),
    merge: bool | None = _switch("merge"),
    sort_buffer: str | None = _option("sort_buffer", metavar="SIZE"),
    record_max: str | None = _option("record_max", metavar="SIZE"),
    durability: str | None = _option("durability", metavar="WHERE"),
    fdatasync_interval: str | None = _option("fdatasync_interval", metavar="SIZE"),
    sink: str | None = _option("sink", metavar="HOW"),
    channel: str | None = _option("channel", metavar="SIZE"),
    direct_above: str | None = _option("direct_above", metavar="SIZE"),
    timeout: str | None = _option("timeout", metavar="TIME"),
    write_within: str | None = _option("write_within", metavar="TIME"),
    across_nodes: bool | None = _switch("across_nodes"),
    topology: str | None = _option("topology", metavar="NAME"),
    file_servers: str | None = _option("file_servers", metavar="N"),
    stripe: str | None = _option("stripe", metavar="SIZE"),
    stage: str | None = _option("stage", metavar="NAME"),
    target: str | None = _option("target", metavar="NAME"),
    interfaces: str | None = _option("interfaces", metavar="LIST"),
    direct_paths: List[str] | None = _option("direct_paths", metavar="GLOB"),
    only_paths: List[str] | None = _option("only_paths", metavar="GLOB"),
    direct_calls: str | None = _option("direct_calls", metavar="LIST"),
    posix: bool | None = _switch("posix"),
    posix_writeback: str | None = _option("posix_writeback", metavar="WHEN"),
    posix_async: List[str] | None = _option("posix_async", metavar="GLOB"),
    posix_async_memory: str | None = _option("posix_async_memory", metavar="SIZE"),
    stats: str | None = typer.Option(
        None,
        "--stats",
        metavar="[FILE]",
        help="Print a table per file at its close; write all as JSON to FILE.",
    ),
    trace: Path | None = typer.Option(
        None, "--trace", metavar="FILE", help="Write a trace for Perfetto or chrome://tracing."
    ),
    config: Path | None = typer.Option(
        None,
        "--config",
        metavar="FILE",
        help="TOML file (./millrace.toml, else ~/.config/millrace/config.toml).",
    ),
    force: bool = typer.Option(False, "--force", help="Start even if the program's MPI does not fit the launcher."),
    show_settings: bool = typer.Option(False, "--show-settings", help="Print all settings and their origin; exit."),
) -> None:
    """Run a program with Millrace: millrace run [options] -- mpiexec -n 16 ./app"""
    given = {
        "strategy": strategy,
        "merge": merge,
        "sort_buffer": sort_buffer,
        "record_max": record_max,
        "durability": durability,
        "fdatasync_interval": fdatasync_interval,
        "sink": sink,
        "channel": channel,
        "direct_above": direct_above,
        "timeout": timeout,
        "write_within": write_within,
        "across_nodes": across_nodes,
        "topology": topology,
        "file_servers": file_servers,
        "stripe": stripe,
        "stage": stage,
        "target": target,
        "interfaces": interfaces,
        "direct_paths": direct_paths or None,
        "only_paths": only_paths or None,
        "direct_calls": direct_calls,
        "posix": posix,
        "posix_writeback": posix_writeback,
        "posix_async": posix_async or None,
        "posix_async_memory": posix_async_memory,
    }
    if show_settings:
        raise typer.Exit(_show_settings(given, config))
    request = running.Request(
        list(command or []),
        given,
        config,
        None if stats is None else "" if stats == _STATS_TABLE else stats,
        trace,
        force,
    )
    raise typer.Exit(running.run(request))


def _show_settings(given: dict[str, object], config: Path | None) -> int:
    from rich.console import Console
    from rich.table import Table

    try:
        configuration = settings.resolve(given, config)
    except settings.SettingError as error:
        running.tell(str(error))
        return running.EXIT_BAD_USE
    table = Table("setting", "value", "from")
    for name, effective in configuration.values.items():
        table.add_row(name, effective.value or "-", effective.origin)
    # A pipe gets whole lines, whatever the width of a terminal.
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    console.print(table)
    return 0


@app.command()
def doctor(
    path: Path = typer.Argument(Path("."), help="The folder of your files."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Show what this machine offers, how Millrace will use it, and what to change."""
    from rich.console import Console

    from millrace import doctor as diagnosis

    facts = diagnosis.diagnose(path, os.environ)
    if as_json:
        typer.echo(json.dumps(facts, indent=1))
    else:
        diagnosis.show(facts, Console())
    raise typer.Exit(0 if facts["usable"] else 1)


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def journal(
    arguments: List[str] = typer.Argument(
        ..., metavar="[OPTIONS] FILE", help="The journal, and options of millrace-journal."
    ),
) -> None:
    """Inspect a journal: its records, their checksums, its end."""
    _become("journal_inspector", arguments)


@app.command()
def recover(
    directory: Path | None = typer.Option(
        None, "--dir", metavar="DIR", help="Folder of the journals (journal_directory, else TMPDIR, else /tmp)."
    ),
    force: bool = typer.Option(
        False,
        "--force",
        help="Also write to another file of the same path, up to a journal's first damage, and over newer bytes.",
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only list the journals; write nothing."),
    list_journals: bool = typer.Option(
        False, "--list", help="List every journal, its contents, and whether its file is there."
    ),
    discard: bool = typer.Option(False, "--discard", help="Remove these journals; their records are lost."),
    journals: List[Path] = typer.Argument(None, metavar="[JOURNAL]...", help="For --discard.", show_default=False),
) -> None:
    """Write the journals of dead agents on this node to their files. Run it on each node of a job that broke."""
    flags = ["--force"] * force + ["--dry-run"] * dry_run + ["--list"] * list_journals + ["--discard"] * discard
    _become("recovery", [*_journal_directory(directory), *flags, *map(str, journals or [])])


@app.command()
def drain(
    directory: Path | None = typer.Option(None, "--dir", metavar="DIR", help="As for recover."),
    timeout: str = typer.Option(
        "60s", "--timeout", metavar="TIME", help="End the wait after this time without progress."
    ),
) -> None:
    """Wait until the agents of this node have written all closed files; then recover the journals of dead agents."""
    _become("recovery", ["--drain", "--timeout", timeout, *_journal_directory(directory)])


def _journal_directory(given: Path | None) -> list[str]:
    if given is not None:
        return ["--dir", str(given)]
    try:
        value = settings.resolve({}, None).values["journal_directory"].value
    except settings.SettingError as error:
        running.tell(str(error))
        raise typer.Exit(running.EXIT_BAD_USE) from None
    return ["--dir", value] if value else []


def _become(program: str, arguments: List[str]) -> None:
    """Runs one of Millrace's own programs in place of this process."""
    try:
        path = getattr(prefix.find(), program)
    except prefix.PrefixError as error:
        running.tell(str(error))
        raise typer.Exit(running.EXIT_BAD_USE) from None
    sys.stdout.flush()
    try:
        os.execv(path, [path, *arguments])
    except OSError as error:
        running.tell(f"{path}: {error.strerror}")
        raise typer.Exit(running.EXIT_NOT_FOUND) from None


@app.command()
def demo(
    output: Path = typer.Option(
        Path("demo-results"), "--output", metavar="FOLDER", help="Folder for index.html and results.json."
    ),
    quick: bool = typer.Option(False, "--quick", help="One pair of runs of each program, smaller files."),
    only: str | None = typer.Option(None, "--only", metavar="TEXT", help="Only the cases whose name contains TEXT."),
    budget: float = typer.Option(220.0, "--budget", metavar="SECONDS", help="Start no further run after this time."),
    picture: Path | None = typer.Option(
        None, "--picture", metavar="FILE", help="Save the figure too, as .svg or .png."
    ),
) -> None:
    """Run real programs with the stock MPI library and with Millrace, compare files and times."""
    from millrace.demo import main as demonstration

    raise typer.Exit(demonstration.run(output, quick, only, budget, picture))


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def bench(
    arguments: list[str] | None = typer.Argument(
        None, metavar="[OPTIONS]", help="Options of bench/run_bars.py; --help there lists them."
    ),
) -> None:
    """Measure the bars of docs/results with the programs of bench/; needs the source tree."""
    program = Path(__file__).resolve().parents[2] / "bench" / "run_bars.py"
    if not program.is_file():
        running.tell(f"{program} is not there: this command works from the source tree only")
        raise typer.Exit(running.EXIT_BAD_USE)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, str(program), *(arguments or [])])


@app.command()
def checkpoint(
    file: Path = typer.Argument(..., metavar="FILE", help="A file of millrace.save, or another safetensors file."),
    verify: bool = typer.Option(True, "--verify/--no-verify", help="Read all of it and compare the checksums."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """List the arrays of a checkpoint and check every byte; status 1 if one is wrong."""
    from millrace.checkpoint import show

    try:
        text = show.show(file, verify, as_json)
    except (show.CheckpointError, OSError) as error:
        running.tell(str(error))
        raise typer.Exit(1) from None
    typer.echo(text)


@app.command()
def version() -> None:
    """Print Millrace's version."""
    typer.echo(f"millrace {__version__}")


def settle_stats(arguments: list[str]) -> list[str]:
    """Gives a bare --stats of `run` its value: the next word is its FILE unless a program of that name exists."""
    if "run" not in arguments[:1]:
        return arguments
    settled, i = [arguments[0]], 1
    takes_value = {s.option_name for s in settings.SETTINGS if s.takes_value} | {"--config"}
    while i < len(arguments):
        word = arguments[i]
        if word == "--" or not word.startswith("-"):
            return settled + arguments[i:]
        following = arguments[i + 1] if i + 1 < len(arguments) else "--"
        if word == "--stats" and (following.startswith("-") or shutil.which(following)):
            settled.append(f"--stats={_STATS_TABLE}")
            i += 1
        elif word in takes_value:
            settled += arguments[i : i + 2]
            i += 2
        else:
            settled.append(word)
            i += 1
    return settled


def main() -> None:
    """Entry point of the `millrace` program."""
    app(args=settle_stats(sys.argv[1:]), prog_name="millrace")
