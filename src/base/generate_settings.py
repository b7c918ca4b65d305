#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Writes what follows from the table of settings (python/millrace/run/setting_table.py) into the source tree:
src/base/setting_table.hpp, include/millrace/hints.h and the tables of docs/reference/settings.md.
With --check it only compares: exit status 1 if a file is stale."""

from __future__ import annotations

import pathlib
import sys
import textwrap
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from millrace.run.setting_table import FOR_USERS, OTHER_VARIABLES, SETTINGS, Setting  # noqa: E402
from millrace.units import parse_bytes, parse_duration  # noqa: E402

HERE = "src/base/generate_settings.py"
LICENSE = "SPDX-FileCopyrightText: 2026 The Millrace authors", "SPDX-License-Identifier: Apache-2.0"
# Settings that libmillrace_posix.so reads by itself: it has no C++ library.
WITHOUT_PARSER = ("posix_async", "stats")
NUMBERS = {"bytes": parse_bytes, "duration": parse_duration, "count": int, "switch": int}


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def default_number(setting: Setting) -> int:
    """0 stands for auto."""
    return 0 if setting.default == "auto" else NUMBERS[setting.kind](setting.default)


def rule(setting: Setting) -> str:
    parts = [f".name = {quoted(setting.name)}", f".kind = SettingKind::{setting.kind.replace('switch', 'toggle')}"]
    if setting.choices:
        parts.append(f".words = setting_words::{setting.name}")
    if setting.high:
        parts += [f".least = {setting.low}", f".most = {setting.high}"]
    if setting.automatic:
        parts.append(".automatic = true")
    if setting.hint or setting.internal:
        parts.append(f".use = SettingUse::{'hint' if setting.hint else 'internal'}")
    parts.append(f".allowed = {quoted(setting.allowed)}")
    return f"    SettingRule{{{', '.join(parts)}}},\n"


def member(setting: Setting) -> str:
    """The setting's member of Settings or FileSettings."""
    unit = {"bytes": "_bytes", "duration": "_ms"}.get(setting.kind, "")
    name = {"stats": "stats_path", "trace": "trace_directory", "agent": "agent_program"}.get(setting.name)
    return f"&{'File' if setting.registered else 'All'}::{name or setting.name + unit}"


def cpp_table() -> str:
    lines = [*(f"// {line}\n" for line in LICENSE), f"// Written by {HERE}. Do not edit.\n", "// clang-format off\n"]
    lines += ["#pragma once\n\n", "#include <array>\n", "#include <cstdint>\n", "#include <string_view>\n"]
    lines += ["#include <tuple>\n\n"]
    lines += ['#include "base/setting_rule.hpp"\n\n', "namespace millrace {\n\n"]
    lines += ["// The words of each setting. The words of an enumeration are in the order of its values.\n"]
    lines += ["namespace setting_words {\n"]
    for one in SETTINGS:
        if one.choices:
            words = ", ".join(map(quoted, one.choices))
            lines.append(f"inline constexpr std::array<std::string_view, {len(one.choices)}> {one.name}{{{words}}};\n")
    lines += ["}  // namespace setting_words\n\n"]
    lines += ["// Built-in values: bytes, milliseconds, 0 or 1. A size of 0 means auto.\n"]
    lines += ["namespace setting_default {\n"]
    for one in SETTINGS:
        if one.kind in NUMBERS and one.kind != "count":  # a count has no value for auto
            lines.append(f"inline constexpr std::uint64_t {one.name} = {default_number(one)};\n")
    lines += ["}  // namespace setting_default\n\n"]
    lines += ["// For libmillrace_posix.so, which has no parser.\n", "namespace setting_variable {\n"]
    without = [one for one in SETTINGS if one.name in WITHOUT_PARSER]
    lines += [f"inline constexpr const char* {one.name} = {quoted(one.variable)};\n" for one in without]
    lines += ["}  // namespace setting_variable\n\n"]
    lines += ["inline constexpr std::array setting_rules{\n", *map(rule, SETTINGS), "};\n\n"]
    lines += ["// The member for each rule. All is Settings, and File is FileSettings.\n"]
    lines += ["template <class All, class File>\n", "inline constexpr std::tuple setting_members{\n"]
    lines += [textwrap.fill(", ".join(map(member, SETTINGS)), 110, initial_indent="    ", subsequent_indent="    ")]
    lines += ["};\n\n", "}  // namespace millrace\n"]
    return "".join(lines)


def hints_header() -> str:
    hints = [one for one in SETTINGS if one.hint]
    left = [f'#define MILLRACE_HINT_{one.name.upper()} "{one.hint_name}"' for one in hints]
    width = max(map(len, left))
    lines = [f"/* {LICENSE[0]}\n", f" * {LICENSE[1]}\n", f" * Written by {HERE}. Do not edit.\n", " *\n"]
    lines += [
        " * Names of the MPI_Info hints that Millrace reads at MPI_File_open and MPI_File_set_view. A program can\n"
    ]
    lines += [
        " * write the names itself instead of including this header. Without Millrace, the MPI library ignores them.\n"
    ]
    lines += [" *\n", ' *     MPI_Info_set(info, MILLRACE_HINT_STRATEGY, "sort");\n', " */\n"]
    lines += ["/* clang-format off */\n", "#ifndef MILLRACE_HINTS_H\n", "#define MILLRACE_HINTS_H\n\n"]
    lines += [f"{text.ljust(width)} /* {one.allowed} */\n" for text, one in zip(left, hints, strict=True)]
    return "".join([*lines, "\n#endif\n"])


def markdown(columns: dict[str, Callable[[Setting], str]]) -> str:
    """A table with a row for each setting of users, and a column for each entry of `columns`."""
    lines = ["| " + " | ".join(columns) + " |\n", "|" + " --- |" * len(columns) + "\n"]
    lines += ["| " + " | ".join(cell(one) or "-" for cell in columns.values()) + " |\n" for one in FOR_USERS]
    return "".join(lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def option(one: Setting) -> str:
    return code(f"{one.option_name} / --no-{one.option_name[2:]}" if one.kind == "switch" else one.option_name)


def help_of(one: Setting) -> str:
    return one.help + (f" Hint: `{one.hint_name}`." if one.hint else "")


# Variables that users may set; the others are for tests and measurements.
VARIABLES = {one.variable: one.help for one in SETTINGS if one.name == "job"} | OTHER_VARIABLES
VARIABLES.pop("MILLRACED_LINGER_MS")
# The parts of docs/reference/settings.md, each between a pair of marks.
PARTS = {
    "settings": markdown(
        {
            "option": lambda one: option(one) or code(one.name),
            "default": lambda one: code(one.default),
            "allowed": lambda one: one.allowed,
            "what it does": help_of,
        }
    ),
    "variables": "\n" + "".join(f"- {code(name)}: {help}\n" for name, help in VARIABLES.items()) + "\n",
}


def with_part(document: str, mark: str, part: str) -> str:
    """A Markdown document with the part between two marks brought up to date."""
    begin, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->\n"
    head, rest = document.split(begin, 1)
    return head + begin + part + end + rest.split(end, 1)[1]


def main() -> int:
    files = {
        ROOT / "src/base/setting_table.hpp": cpp_table(),
        ROOT / "include/millrace/hints.h": hints_header(),
    }
    page = ROOT / "docs/reference/settings.md"
    files[page] = page.read_text(encoding="utf-8")
    for mark, part in PARTS.items():
        files[page] = with_part(files[page], mark, part)
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if "--check" in sys.argv[1:]:
            print(f"stale: {path.relative_to(ROOT)}: run {HERE}")
        else:
            path.write_text(files[path], encoding="utf-8")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
