# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON lines that clients and agents append to MILLRACE_STATS and shows one table per file.

docs/stats.md is the format. Unknown fields are kept in the merged document and otherwise ignored.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from millrace.settings import GIB, KIB, MIB

SCHEMA = "millrace.stats/1"
_POLL_S = 0.1
_AGENT_BOUND_S = 30.0


def wait_for_agents(job: str, bound_s: float = _AGENT_BOUND_S) -> bool:
    """Waits until this node's agent of the job has left (it drains and reports first); False = bound reached."""
    deadline = time.monotonic() + bound_s
    while _agent_lives(job):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _agent_lives(job: str) -> bool:
    wanted = f"MILLRACE_JOB={job}".encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            comm = Path(entry.path, "comm").read_text()
            if comm.strip() == "millraced" and wanted in Path(entry.path, "environ").read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def human_bytes(value: float) -> str:
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if value >= unit:
            return f"{value / unit:.1f} {name}"
    return f"{value:.0f} B"


def human_time(nanoseconds: float) -> str:
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= unit:
            return f"{nanoseconds / unit:.2f} {name}"
    return f"{nanoseconds:.0f} ns"
