#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages of all commands (share/man) and docs/reference/commands.md from the options that the command
line declares. With --check it only compares: exit status 1 if a file is stale."""

from __future__ import annotations

import pathlib
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from millrace import __version__  # noqa: E402
from millrace.run.setting_table import FOR_USERS  # noqa: E402

MAN = ROOT / "share/man"
PAGE = ROOT / "docs/reference/commands.md"
HEADER = "SPDX-FileCopyrightText: 2026 The Millrace authors; SPDX-License-Identifier: Apache-2.0"
HERE = "Written by scripts/manual.py. Do not edit."

STATUS = {
    "run": "That of the command. 2: wrong use. 126: the program cannot be executed. 127: the program was not found.",
    "doctor": "0: Millrace can work there. 1: it cannot.",
    "journal": "0: the journal is sound. 1: it is corrupt or no journal. 2: wrong use, or the file cannot be read.",
    "recover": "0: all records are in their files. 1: some are not. 2: wrong use.",
    "drain": "0: all bytes are in their files. 1: some are not. 2: wrong use.",
    "compare": ("0: no figure is worse. 1: a figure is worse beyond noise. 2: the sessions cannot be compared."),
    "checkpoint": "0: every byte is right. 1: one is wrong, or the file is no checkpoint.",
    "cluster exec": "That of the command.",
}
# Options of the native program that a command hands its words to.
MORE = {"journal": [("--json", "Print one JSON document.")]}
# Programs with pages of their own: (section, words behind the name, one line, text).
PROGRAMS = {
    "millrace-costs": (
        1,
        "[--measure] FOLDER",
        "print the costs of writes on a file system",
        "Prints the costs of writes on the folder's file system as JSON. If there is no record yet, or with --measure, "
        "a small job of a few ranks and an agent measures them. It removes its file of 48 MiB afterwards.",
    ),
    "millraced": (
        8,
        "",
        "the agent of Millrace on a node",
        "The agent takes the writes of the ranks of its node, and writes the files. Ranks start it, and it ends with "
        "them. You need not start it. SIGTERM and SIGINT make it write all its bytes. MILLRACED_LOG names a file for "
        "its log.",
    ),
    "millrace-host": (
        8,
        "",
        "runs functions for a channel of Millrace",
        "A channel of the library libmillrace_io starts this program. You need not start it.",
    ),
}


class Command:
    """A command and what the command line declares about it. `words`: its name behind `millrace`."""

    def __init__(self, words: str, declared: Any) -> None:
        self.words, self.help = words, " ".join((declared.help or "").split())
        self.parameters = [one for one in declared.params if not getattr(one, "hidden", False)]
        self.commands = list(getattr(declared, "commands", {}).values())

    @property
    def name(self) -> str:
        return "-".join(["millrace", *self.words.split()])

    @property
    def first(self) -> str:
        """The first sentence of the help."""
        return self.help.split(". ")[0].split(": ")[0].rstrip(".")

    @property
    def synopsis(self) -> str:
        places = [metavar(one) for one in self.parameters if one.param_type_name == "argument"]
        return " ".join(["millrace", *self.words.split(), "[OPTIONS]", *places, *["COMMAND ..."] * bool(self.commands)])

    def options(self) -> Iterator[tuple[str, str]]:
        """Each option or argument with its help."""
        for one in self.parameters:
            if one.param_type_name == "argument":
                if one.help:
                    yield metavar(one), one.help
                continue
            value = "" if one.is_flag else " " + metavar(one)
            names = ", ".join([*one.opts, *one.secondary_opts])
            yield names + value, (one.help or "") + default(one)
        yield from MORE.get(self.words, [])


def default(option: Any) -> str:
    return "" if option.is_flag or not option.show_default or not option.default else f" [default: {option.default}]"


def metavar(parameter: Any) -> str:
    return parameter.metavar or parameter.name.upper()


def commands(declared: Any, words: str = "") -> Iterator[Command]:
    yield Command(words, declared)
    for name, one in getattr(declared, "commands", {}).items():
        yield from commands(one, f"{words} {name}".strip())


def roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def head(name: str, section: int, line: str, synopsis: str, text: str) -> list[str]:
    return [
        f'.\\" {HEADER}',
        f'.\\" {HERE}',
        f'.TH {name.upper().replace("-", chr(92) + "-")} {section} "" "Millrace {__version__}" "Millrace"',
        ".SH NAME",
        f"{roff(name)} \\- {roff(line[0].lower() + line[1:])}",
        ".SH SYNOPSIS",
        f".B {roff(synopsis)}",
        ".SH DESCRIPTION",
        roff(text),
    ]


def manual(command: Command, group: list[Command]) -> str:
    lines = head(command.name, 1, command.first, command.synopsis, command.help)
    options = list(command.options())
    if options:
        lines.append(".SH OPTIONS")
    for name, text in options:
        lines += [".TP", f".B {roff(name)}", roff(text)]
    if command.commands:
        lines.append(".SH COMMANDS")
    for one in group:
        lines += [".TP", f".BR {roff(one.name)} (1)", roff(one.first + ".")]
    if command.words in STATUS:
        lines += [".SH EXIT STATUS", roff(STATUS[command.words])]
    if command.words == "run":
        lines += [".SH ENVIRONMENT", "Each setting has a variable. An option is stronger than the variable."]
        for one in FOR_USERS:
            lines += [".TP", f".B {roff(one.variable)}", roff(one.help)]
        lines += [".TP", ".B MILLRACE", "0 turns Millrace off."]
    others = [name for name in ("millrace", "millrace\\-run", "millrace\\-doctor") if name != roff(command.name)]
    return "\n".join([*lines, ".SH SEE ALSO", *[f".BR {name} (1)" for name in others]]) + "\n"


def program(name: str) -> str:
    section, words, line, text = PROGRAMS[name]
    lines = head(name, section, line, f"{name} {words}".strip(), text)
    return "\n".join([*lines, ".SH SEE ALSO", ".BR millrace (1)"]) + "\n"


def filled(text: str) -> str:
    return textwrap.fill(text, 120, subsequent_indent="  " * text.startswith("- "), break_on_hyphens=False)


def listed(rows: Iterable[tuple[str, str]]) -> list[str]:
    lines = [filled(f"- `{name}`: {text}") for name, text in rows if name != "--json"]
    return [*lines, ""] if lines else []


def with_status(one: Command) -> str:
    return f"{one.help.rstrip('.')}. Exit status: {STATUS[one.words]}" if one.words in STATUS else one.help


def options_of_group(group: list[Command]) -> dict[str, str]:
    """The options of all commands of a group, each once, with the commands that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in group:
        for option in one.options():
            found.setdefault(option, []).append(f"`{one.words.split()[-1]}`")
    return {name: text if len(of) == len(group) else f"{', '.join(of)}: {text}" for (name, text), of in found.items()}


def section(one: Command, group: list[Command]) -> list[str]:
    synopsis = one.synopsis.replace(" [OPTIONS]", "", 1)
    synopsis = [f"`{synopsis}`", ""] if synopsis.split()[2:] and not one.commands else []
    lines = [f"## millrace {one.words}".rstrip(), "", *synopsis, filled(with_status(one)), ""]
    if one.words == "run":
        settings = {setting.option_name for setting in FOR_USERS if setting.toml}
        lines += ["All [settings](settings.md) are options, and these:", ""]
        return lines + listed(row for row in one.options() if row[0].split()[0].rstrip(",") not in settings)
    lines += listed(one.options())
    lines += listed(
        (other.synopsis.removeprefix("millrace ").replace(" [OPTIONS]", ""), with_status(other)) for other in group
    )
    return lines + (["Options of these commands:", ""] if group else []) + listed(options_of_group(group).items())


def page(all_commands: list[Command]) -> str:
    lines = [f"<!-- {HEADER} -->", f"<!-- {HERE} -->", "# Commands", ""]
    text = "Each command prints this with `--help`, and has a manual page: `man millrace-run`. "
    lines += [filled(text + "`--json`, where a command has it, prints one JSON document."), ""]
    for one in all_commands:
        if one.words and " " not in one.words:
            lines += section(one, [other for other in all_commands if other.words.startswith(f"{one.words} ")])
    lines += ["## Other programs", ""]
    lines += listed((f"{name} {words}".strip(), text) for name, (_, words, _, text) in PROGRAMS.items())
    return "\n".join(lines)


def files() -> dict[pathlib.Path, str]:
    import typer.main
    from millrace.cli import app

    every = list(commands(typer.main.get_command(app)))
    written = {PAGE: page(every)}
    for one in every:
        depth = len(one.words.split()) + 1
        group = [other for other in every if other is not one and other.words.startswith(one.words)]
        group = [other for other in group if len(other.words.split()) == depth] if one.commands else []
        written[MAN / f"man1/{one.name}.1"] = manual(one, group)
    for name, (section, *_) in PROGRAMS.items():
        written[MAN / f"man{section}/{name}.{section}"] = program(name)
    return written


def main() -> int:
    written = files()
    old = {*MAN.glob("man*/*")} - written.keys()
    stale = [path for path, text in written.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in [*stale, *sorted(old)]:
        if "--check" in sys.argv[1:]:
            print(f"stale: {path.relative_to(ROOT)}: run scripts/manual.py")
        elif path in old:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written[path], encoding="utf-8")
    return 1 if "--check" in sys.argv[1:] and (stale or old) else 0


if __name__ == "__main__":
    sys.exit(main())
