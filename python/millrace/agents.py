# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The agents of a job on this node."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

_BOUND_S = 30.0


def wait_for_agents(job: str, bound_s: float = _BOUND_S, stop: Callable[[], bool] = lambda: False) -> bool:
    """Waits until this node's agent of the job has left; it drains and reports first.

    False where the bound was reached, or stop() said so.
    """
    deadline = time.monotonic() + bound_s
    while _agent_lives(job):
        if time.monotonic() > deadline or stop():
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
