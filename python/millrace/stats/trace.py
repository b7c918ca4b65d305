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
    # The file may end in the middle of an event. Writers put one event on each line.
    events = []
    for line in text.splitlines():
        try:
            event = json.loads(line.strip().rstrip(",").lstrip("["))
        except json.JSONDecodeError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def _tell_apart(files: list[list[dict[str, Any]]]) -> None:
    """Processes of different nodes may have the same number. Each file belongs to one process, and keeps its number or
    gets a free one."""
    used = {event.get("pid") for events in files for event in events if isinstance(event.get("pid"), int)}
    free = max(used, default=0) + 1
    taken: set[int] = set()
    for events in files:
        own = {event["pid"] for event in events if isinstance(event.get("pid"), int)}
        new = {pid: free + i for i, pid in enumerate(sorted(own & taken))}
        for event in events:
            event.update({"pid": new[event["pid"]]} if event.get("pid") in new else {})
        free += len(new)
        taken |= own


def merge(folder: Path, target: Path) -> int:
    """Writes all events below `folder` to `target`, by time; returns how many there are."""
    files = [read_events(path) for path in sorted(folder.glob("*")) if path.is_file()]
    _tell_apart(files)
    events = [event for own in files for event in own]
    # Names of processes and threads (phase M) have no time: they go first.
    events.sort(key=lambda event: (event.get("ph") != "M", event.get("ts", 0)))
    document = {"displayTimeUnit": "ns", "traceEvents": events}
    target.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    return len(events)
