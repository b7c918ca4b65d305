# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The command line. Options are declared here; the other modules carry them out."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Callable, List, Optional, Sequence

import typer

from millrace import __version__, prefix
from millrace.run import command as running
from millrace.run import settings
from millrace.tools.cluster import cli as cluster
from millrace.tools.evaluate import cli as evaluation
from millrace.tools.model import cli as modelling

app = typer.Typer(
    help="Millrace makes MPI programs write shared files at the speed of one sequential stream.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(cluster.app, name="cluster")
evaluation.add_to(app)
modelling.add_to(app)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"millrace {__version__}")
        raise typer.Exit


@app.callback()
def _millrace(
    _version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", callback=_tell_version, is_eager=True
    ),
) -> None:
    """The options of `millrace` itself."""


_PASS_ON = {"allow_interspersed_args": False}
_STATS_TABLE = "-"  # the value of --stats without a file


_METAVARS = {"bytes": "SIZE", "count": "N", "duration": "TIME", "paths": "GLOB", "names": "LIST"}


def _parameter(setting: settings.Setting) -> inspect.Parameter:
    name, kind = setting.option_name, inspect.Parameter.POSITIONAL_OR_KEYWORD
    if setting.kind == "switch":
        text = f"{setting.help} ({'on' if setting.default == '1' else 'off'})"
        option = typer.Option(None, f"{name}/--no-{name[2:]}", help=text, show_default=False)
        return inspect.Parameter(setting.name, kind, default=option, annotation=Optional[bool])
    text = f"{setting.help} ({setting.default or 'none'}; {setting.allowed})"
    metavar = _METAVARS.get(setting.kind, "NAME")
    option = typer.Option(
        None, name, metavar=metavar, help=text, show_default=False, autocompletion=_choices(setting.choices)
    )
    several = setting.kind == "paths"
    return inspect.Parameter(
        setting.name, kind, default=option, annotation=Optional[List[str]] if several else Optional[str]
    )


def _choices(words: Sequence[str]) -> Callable[[str], List[str]] | None:
    """Completes an option in a shell. Without it, the shell completes names of files."""
    return (lambda incomplete: [word for word in words if word.startswith(incomplete)]) if words else None


def _with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command that ends with `**given` an option for each setting of the table, after its first argument. The
    settings that name files have options of the command's own."""
    own = [one for one in inspect.signature(command).parameters.values() if one.kind is not one.VAR_KEYWORD]
    added = [_parameter(setting) for setting in settings.SETTINGS if setting.option and setting.kind != "path"]
    command.__signature__ = inspect.Signature([own[0], *added, *own[1:]])
    command.__annotations__ |= {one.name: one.annotation for one in added}
    del command.__annotations__["given"]
    return command


@app.command(context_settings=_PASS_ON, no_args_is_help=True)
@_with_settings
def run(
    command: List[str] | None = typer.Argument(
        None, metavar="-- COMMAND...", help="The command: mpiexec -n 16 ./app, srun ./app, ./app ..."
    ),
    stats: str | None = typer.Option(
        None,
        "--stats",
        metavar="[FILE]",
        help="Print a table per file after its close; or write all as JSON to FILE, and print a summary.",
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
    **given: object,
) -> None:
    """Run a program with Millrace: millrace run [options] -- mpiexec -n 16 ./app"""
    given = {name: value for name, value in given.items() if value not in (None, [])}
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
    for setting in settings.FOR_USERS:
        effective = configuration.values[setting.name]
        table.add_row(setting.name, effective.value or "-", effective.origin)
    # A pipe gets whole lines; the width of a terminal does not matter.
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    console.print(table)
    return 0


class _WithCommand(typer.core.TyperCommand):
    """Keeps the words after `--` from the other arguments; they are in the context as `command`."""

    def parse_args(self, ctx: typer.Context, args: List[str]) -> List[str]:
        place = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[place + 1 :]
        return super().parse_args(ctx, args[:place])


@app.command(cls=_WithCommand, options_metavar="[OPTIONS] [PATH] [-- COMMAND...]")
def doctor(
    ctx: typer.Context,
    path: Path = typer.Argument(Path("."), help="The folder of your files."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Show what this machine offers, how Millrace will use it, and what to change.

    With a command, also the MPI library that each of its programs loads: millrace doctor -- mpiexec -n 4 ./app
    """
    from rich.console import Console

    from millrace.doctor import diagnosis

    facts = diagnosis.diagnose(path, os.environ, ctx.meta["command"])
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
        None, "--dir", metavar="DIR", help="Folder of the journals (journal_directory, else /var/tmp)."
    ),
    target: Path | None = typer.Option(
        None, "--target", metavar="FILE", help="Only write the journals of this file, whatever its name was."
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
    only = ["--target", str(target)] if target is not None else []
    flags = only + ["--force"] * force + ["--dry-run"] * dry_run + ["--list"] * list_journals + ["--discard"] * discard
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
    """Replaces this process by one of Millrace's own programs."""
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
    quick: bool = typer.Option(False, "--quick", help="Only one pair of runs of each program, with smaller files."),
    only: str | None = typer.Option(
        None, "--only", metavar="TEXT", help="Run only the cases whose name contains TEXT."
    ),
    budget: float = typer.Option(150.0, "--budget", metavar="SECONDS", help="Start no further run after this time."),
    picture: Path | None = typer.Option(None, "--picture", metavar="FILE", help="Save the figure too, as .svg."),
    nodes: bool = typer.Option(
        True, "--nodes/--no-nodes", help="Run on 4 virtual nodes too, where this user may make them (root)."
    ),
) -> None:
    """Run programs with and without Millrace, compare files and times."""
    from millrace.tools.demo import main as demonstration

    raise typer.Exit(demonstration.run(demonstration.Options(output, quick, only, budget, picture, nodes)))


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def bench(
    arguments: list[str] | None = typer.Argument(
        None, metavar="[OPTIONS]", help="Options of bench/run_bars.py, which lists them with --help."
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
    verify: bool = typer.Option(True, "--verify/--no-verify", help="Read the whole file and compare the checksums."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """List the arrays of a checkpoint and check every byte."""
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
