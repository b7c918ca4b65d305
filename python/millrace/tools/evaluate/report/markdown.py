# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The report as Markdown: the same words and figures, without drawings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millrace.tools.evaluate.references import Machine
from millrace.tools.evaluate.report import beside, page, sections, story
from millrace.tools.evaluate.session import Session, write_atomically


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def write(path: Path, session: Session, machines: Sequence[Machine]) -> None:
    cards = [
        (
            card.title,
            "-" if card.value is None else f"{story.number(card.value)} {card.unit}",
            card.words(),
        )
        for card in story.cards(session)
    ]
    lines = [
        f"# {page.heading(session)}",
        "",
        f"{page.facts_line(session)}. {page.when(session)}, profile "
        f"{session.document['profile']}: {page.counts(session)}.",
        "",
        f"**Weakest point.** {story.weakest(session)}",
        "",
        "**Which I/O method.** The fastest for each pattern of one shared file:",
        "",
        *(f"- {pattern}: {best} ({gain})" for pattern, best, gain in story.method_advice(session)),
        "",
        *_table(("figure", "value", ""), cards),
    ]
    for section in sections.build(session, machines):
        lines += ["", f"## {section.title}", "", section.lead, ""]
        if section.table:
            lines += _table(("case", "figure", "value", "of its limit"), section.table)
            lines += ["", *(f"- {case}: `{command}`" for case, command in section.commands)]
        lines += [f"- **{status}** {name}: {reason}" for name, status, reason in section.problems]
    lines += ["", "## Beside published machines"]
    for table in beside.tables(session, machines):
        own = [(row.title, row.own, *row.others) for row in table.rows]
        lines += ["", f"### {table.title}", ""]
        lines += _table(("", "this machine", *(machine.name for machine in table.machines)), own)
    lines += ["", *(f"- {machine.name}: {machine.source}" for machine in machines)]
    lines += ["", "## Environment and method", "", session.document["rule"], "", f"`{session.document['command']}`", ""]
    lines += _table(("", ""), page.environment(session))
    absent = session.document.get("absent", [])
    lines += ["", f"Not part of this version: {', '.join(absent)}."] if absent else []
    write_atomically(path, "\n".join(lines) + "\n")
