# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The agents of a job on this node."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

_BOUND_S = 30.0


def end_agents(job: str, bound_s: float = _BOUND_S, stop: Callable[[], bool] = lambda: False) -> bool:
    """Tells this node's agents of the job that no rank comes any more, and waits until they have left. They write
    and report all that they have first, and serve ranks that are still there.

    False where the bound was reached, or stop() said so.
    """
    deadline = time.monotonic() + bound_s
    told: set[int] = set()
    while living := _agents(job):
        for process in living - told:
            _tell(process)
        told |= living
        if time.monotonic() > deadline or stop():
            return False
        time.sleep(0.002)
    return True


def _tell(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)


def _agents(job: str) -> set[int]:
    """The processes of the job's agents."""
    found = set()
    wanted = f"MILLRACE_JOB={job}".encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            comm = Path(entry.path, "comm").read_text()
            if comm.strip() == "millraced" and wanted in Path(entry.path, "environ").read_bytes().split(b"\0"):
                found.add(int(entry.name))
        except OSError:
            continue
    return found
