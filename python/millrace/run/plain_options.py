# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of `millrace run` where it holds nothing but settings and the program's words.

Loading typer takes longer than most small programs run. The table of settings says which options there are; all that
is not plain (help, reports, mistakes) is left to cli.py, which reads the same line from its beginning.
"""

from __future__ import annotations

from millrace.run.settings import SETTINGS

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Sequence


def read(words: Sequence[str]) -> tuple[dict[str, object], list[str]] | None:
    """The settings by name, and the command; None if cli.py has to read the words."""
    given: dict[str, object] = {}
    values, switches = _tables()
    i = 0
    while i < len(words) and words[i].startswith("-") and words[i] != "--":
        option, equals, value = words[i].partition("=")
        i += 1
        if option in switches and not equals:
            name, given[name] = switches[option]
            continue
        if not equals and i < len(words) and not words[i].startswith("-"):
            equals, value, i = "=", words[i], i + 1
        if option not in values or not equals:
            return None
        setting = values[option]
        given[setting.name] = [*given.get(setting.name, []), value] if setting.kind == "paths" else value
    command = list(words[i + 1 :] if words[i : i + 1] == ["--"] else words[i:])
    return (given, command) if command else None


def _tables():
    """The options with a value, and both options of each switch with their name and meaning."""
    # --stats and --trace take files, and have rules of their own.
    values = {setting.option_name: setting for setting in SETTINGS if setting.takes_value and setting.kind != "path"}
    switches = {}
    for setting in SETTINGS:
        if setting.kind == "switch" and setting.option:
            switches[setting.option_name] = (setting.name, True)
            switches["--no-" + setting.option_name[2:]] = (setting.name, False)
    return values, switches
