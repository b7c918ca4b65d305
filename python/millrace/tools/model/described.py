# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A description of the machine that `millrace evaluate` measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millrace.tools.model.errors import ModelError
from millrace.tools.model.machine import SCHEMA

_MIB = 1 << 20


def _value(figures: dict[str, dict[str, Any]], name: str, folder: Path) -> float:
    if name not in figures:
        raise ModelError(f"{folder}: the session has no {name}; run millrace evaluate to its end")
    return float(figures[name]["value"])


def text(folder: Path) -> str:
    """YAML of kind host, from a session's limits; raises ModelError if a limit is missing."""
    from millrace.tools.evaluate.errors import EvaluationError
    from millrace.tools.evaluate.session import Session

    try:
        session = Session.open(folder)
        figures = session.figures()
    except (EvaluationError, OSError) as error:
        raise ModelError(str(error)) from None
    about = session.document.get("machine", {}).get("processor", {})
    cores = int(about.get("usable_processors") or about.get("processors") or 1)
    # All cores share these rates for reads and writes; each gets an equal part.
    copy = _value(figures, "limit.memory:copy", folder) / 2 / cores
    storage = _value(figures, "limit.storage:write", folder) * _MIB / 1e6
    measured = f"measured: millrace evaluate, {session.document.get('begun', 'undated')}"
    rows = {
        "cores": f'{{value: {cores}, source: "{measured}"}}',
        "copy_rate": f'{{value: {copy:.4g}, unit: GB/s, source: "{measured}, limit.memory:copy by cores"}}',
        "storage_rate": f'{{value: {storage:.5g}, unit: MB/s, source: "{measured}, limit.storage:write"}}',
        "call": '{value: 2, unit: us, source: "measured: CPU of a write to a local file, Linux 6.18"}',
    }
    lines = [
        f"schema: {SCHEMA}",
        f"name: {session.name}",
        "kind: host",
        f'about: "{about.get("model", "this machine")}"',
    ]
    return "\n".join([*lines, "parameters:", *(f"  {name}: {row}" for name, row in rows.items()), ""])


def write(folder: Path) -> None:
    """Writes machine.yaml into the session's folder; writes nothing if a limit is missing."""
    try:
        found = text(folder)
    except ModelError:
        return
    (folder / "machine.yaml").write_text(found, encoding="utf-8")
