# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Plain files in the reports of `--posix --stats`: one entry for each path, over all closes and processes."""

from __future__ import annotations

from typing import Any

from millrace.stats.reasons import changes
from millrace.units import human_bytes

KIND = "plain"


class PlainFile:
    """All lines of one path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []

    def total(self, name: str) -> int:
        return sum(int(line.get(name) or 0) for line in self.lines)

    def reasons(self) -> list[str]:
        """The reasons, the most frequent first, with the number of closes."""
        found: dict[tuple[str, str], int] = {}
        for line in self.lines:
            key = (str(line.get("reason") or ""), str(line.get("setting") or ""))
            found[key] = found.get(key, 0) + 1
        order = sorted(found, key=lambda key: -found[key])
        return [
            f"{why}{f' ({changes(setting)})' if setting else ''} ({_closes(found[why, setting])})"
            for why, setting in order
            if why
        ]

    def summary(self) -> dict[str, Any]:
        """The entry of the merged document."""
        return {
            "path": self.path,
            "closes": len(self.lines),
            "processes": len({line.get("pid") for line in self.lines}),
            "reasons": self.reasons(),
            **{name: self.total(name) for name in ("bytes", "early_bytes", "behind_bytes")},
        }


def _closes(count: int) -> str:
    return f"{count} close{'s' if count > 1 else ''}"


def table_of(files: list[PlainFile]) -> Any:
    """One table of all plain files, the largest first."""
    from rich.table import Table

    heads = ("plain file", "written in large pieces", "early", "write-behind", "why")
    table = Table(*heads, title="plain files", title_justify="left")
    for file in sorted(files, key=lambda one: -one.total("bytes")):
        sizes = [human_bytes(file.total(name)) for name in ("bytes", "early_bytes", "behind_bytes")]
        table.add_row(file.path, *sizes, "\n".join(file.reasons()))
    return table


def line_of(file: PlainFile) -> str:
    """The line of the summary."""
    why = next(iter(file.reasons()), "")
    ways = {"early": file.total("early_bytes"), "behind": file.total("behind_bytes")}
    parts = [f"{human_bytes(size)} {way}" for way, size in ways.items() if size]
    told = ", ".join([f"plain file, {human_bytes(file.total('bytes'))}", *parts])
    return f"  {file.path}: {told}" + (f"; {why}" if why else "")
