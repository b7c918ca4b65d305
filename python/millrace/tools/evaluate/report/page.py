# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file, without network and scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from millrace.tools.evaluate.references import Machine
from millrace.tools.evaluate.report import beside, sections, story
from millrace.tools.evaluate.session import Session, write_atomically
from millrace.units import human_bytes

_HERE = Path(__file__).parent


def environment(session: Session) -> list[tuple[str, str]]:
    """The machine behind the figures, as pairs of words."""
    found = session.machine
    processor, memory, storage = found["processor"], found["memory"], found.get("storage", {})
    rows = [
        ("Processor", processor["model"]),
        ("Processors", f"{processor.get('usable_processors')} usable of {processor.get('processors')}"),
        ("Sockets, cores, threads", _joined(processor, ("sockets", "cores_per_socket", "threads_per_core"))),
        ("NUMA nodes", str(processor.get("numa_nodes", ""))),
        ("Caches", _joined(processor, ("cache_l1d", "cache_l2", "cache_l3"))),
        ("Vector instructions", ", ".join(processor.get("vector", []))),
        ("Hypervisor", processor.get("hypervisor", "none seen")),
        ("Frequency governor", found.get("frequency_governor", "")),
        ("Memory", human_bytes(memory["total"] or 0)),
        ("Memory bandwidth, theoretical", _theory(found.get("memory_bandwidth"))),
        ("Transparent huge pages", str(memory.get("transparent_huge_pages"))),
        ("Storage", f"{storage.get('type')} on {storage.get('source')}, {storage.get('options')}"),
        ("Folder", session.document["target"]),
        ("Scheduler", session.document.get("scheduler") or "none: this machine"),
    ]
    names = {"mpich": "MPICH", "openmpi": "Open MPI", "blas": "BLAS"}
    rows += [(names.get(name, name.capitalize()), str(value)) for name, value in found["software"].items()]
    return [(name, value) for name, value in rows if value]


def _theory(found: dict[str, Any] | None) -> str:
    """The theoretical figures; older sessions have none."""
    if not found:
        return ""
    return found["words"] if found["gb_s"] is None else f"{story.number(found['gb_s'])} GB/s: {found['words']}"


def _joined(found: dict[str, Any], names: tuple[str, ...]) -> str:
    return " / ".join(str(found[name]) for name in names if found.get(name))


def heading(session: Session) -> str:
    found = session.machine
    return f"{found['hostname']}: {found['processor']['model']}"


def facts_line(session: Session) -> str:
    found = session.machine
    storage = found.get("storage", {})
    parts = [
        f"{found['processor'].get('usable_processors')} processors",
        human_bytes(found["memory"]["total"] or 0),
        f"Linux {found['software']['kernel']}",
        f"{storage.get('type', 'unknown file system')} at {storage.get('mount_point', '?')}",
        ", ".join(session.document.get("mpis", [])) or "no MPI",
    ]
    return " \u00b7 ".join(parts)


def when(session: Session) -> str:
    return str(session.document.get("ended") or session.document["begun"])[:16].replace("T", " ")


def counts(session: Session) -> str:
    count = Counter(result["status"] for result in session.results())
    missing = len(session.cases) - sum(count.values())
    words = [f"{number} {status}" for status, number in sorted(count.items(), key=lambda item: -item[1])]
    words += [f"{missing} not run yet"] * (missing > 0)
    return ", ".join(words)


def write(path: Path, session: Session, machines: Sequence[Machine]) -> None:
    """Writes the page of a session, with the results so far."""
    loader = jinja2.FileSystemLoader(_HERE)
    engine = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    engine.filters["number"] = story.number
    text = engine.get_template("page.html.j2").render(
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        hostname=session.machine["hostname"],
        heading=heading(session),
        facts_line=facts_line(session),
        date=when(session),
        profile=session.document["profile"],
        counts=counts(session),
        weakest=story.weakest(session),
        advice=story.method_advice(session),
        cards=story.cards(session),
        sections=sections.build(session, machines),
        machines=machines,
        beside=beside.tables(session, machines),
        rule=session.document["rule"],
        command=session.document["command"],
        environment=environment(session),
        absent=session.document.get("absent", []),
        version=session.document["version"],
    )
    write_atomically(path, text)
