# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Joins the trace files of the processes of a job into one that Perfetto and Chrome read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of one file: an array, an object with traceEvents, or an array that a killed process left open."""
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    for candidate in (text, text.rstrip(", \n") + "]"):
        try:
            document = json.loads(candidate)
        except json.JSONDecodeError:
            continue
        events = document.get("traceEvents", []) if isinstance(document, dict) else document
        return [event for event in events if isinstance(event, dict)]
    # Cut in the middle of an event: one event per line is what the writers promise.
    events = []
    for line in text.splitlines():
        try:
            event = json.loads(line.strip().rstrip(",").lstrip("["))
        except json.JSONDecodeError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def merge(folder: Path, target: Path) -> int:
    """Writes all events below `folder` to `target`, by time; returns how many there are."""
    events = [event for path in sorted(folder.glob("*")) if path.is_file() for event in read_events(path)]
    # Names of processes and threads (phase M) have no time: they go first.
    events.sort(key=lambda event: (event.get("ph") != "M", event.get("ts", 0)))
    document = {"displayTimeUnit": "ns", "traceEvents": events}
    target.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    return len(events)
