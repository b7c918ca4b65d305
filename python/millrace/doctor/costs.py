# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The costs of writes on a file system, as `millrace-costs` measures and records them (ADR 20)."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millrace.prefix import Prefix
from millrace.units import human_bytes


def probe(found: Prefix | None, folder: Path) -> dict[str, Any]:
    """The answer of `millrace-costs` for a folder's file system, or an error's text."""
    if found is None or not os.access(found.costs, os.X_OK):
        return {"error": "millrace-costs is missing: build or install Millrace again"}
    try:
        done = subprocess.run(
            [found.costs, str(folder)],
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return (
            {**json.loads(done.stdout), "note": done.stderr.strip()}
            if done.returncode == 0
            else {"error": done.stderr.strip()}
        )
    except subprocess.TimeoutExpired:
        return {"error": "the measurement did not end within one minute; check whether the file system hangs"}
    except (OSError, ValueError) as error:
        return {"error": str(error)}


_COHERENCE = {
    "machine": "of this machine: the agents write its files",
    "nodes": "coherent between nodes: the agents write its files",
    "none": "not coherent between nodes, or not known: the MPI library writes files that several nodes may write, "
    "and the agents those of programs on one node",
}


def coherence(costs: Mapping[str, Any]) -> str:
    """What Millrace does with files of the folder that several nodes write; empty: not known."""
    return _COHERENCE.get(str(costs.get("coherence")), "")


def told(costs: Mapping[str, Any]) -> list[tuple[str, str, bool, str]]:
    """Lines of `millrace doctor`: name, value, state, advice."""
    if "error" in costs:
        return [("costs", "not known: Millrace uses typical costs", True, str(costs["error"]))]
    cache, disk, ring = (1e12 / costs[name] / (1 << 20) for name in ("byte_ps", "disk_byte_ps", "through_byte_ps"))
    when = "measured now" if costs["measured_now"] else "recorded before; millrace-costs --measure measures again"
    return [
        (
            "costs",
            f"of {costs['file_system'] or 'this file system'}: a write call {costs['call_ps'] / 1e6:.1f} us, "
            f"its bytes at {cache:,.0f} MiB/s, from there to the disk {disk:,.0f} MiB/s; a record on its way through "
            f"the pipeline {costs['record_ps'] / 1000:.0f} ns, its bytes {ring:,.0f} MiB/s ({when})",
            bool(costs.get("note")),
            str(costs.get("note", "")),
        ),
        (
            "",
            f"a question to the agent {costs['trip_ps'] / 1e6:.0f} us, its start {costs['start_ps'] / 1e9:.1f} ms",
            False,
            "",
        ),
        (
            "",
            f"so auto takes the pipeline for contiguous pieces below about {human_bytes(costs['break_even_bytes'])}, "
            f"{human_bytes(costs['break_even_synced_bytes'])} if the program syncs",
            False,
            "",
        ),
    ]
