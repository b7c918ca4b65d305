# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps a job in one group of the processor scheduler, as a batch system does.

With autogroups, Linux gives every session an equal share of the processors. Some launchers start each rank in a session
of its own: then N ranks that spin in a barrier hold N shares, sched_yield() yields to nobody, and the agent has one
share whatever it does for all of them. In a control group all threads of a
job count alike, and autogroups do not apply.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

_AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
_MOUNT = Path("/sys/fs/cgroup")


def _root_of_cpu() -> Path | None:
    """The root group of the cpu controller, if this process is in it and child groups have that controller."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            mounts = [_MOUNT / "cpu", _MOUNT / controllers]
            return next((mount for mount in mounts if path == "/" and mount.is_dir()), None)
        if controllers == "" and path == "/":
            with contextlib.suppress(OSError):
                if "cpu" in (_MOUNT / "cgroup.subtree_control").read_text().split():
                    return _MOUNT
    return None


def autogroups() -> bool:
    """True if the scheduler groups the processes that start from here by session."""
    try:
        enabled = _AUTOGROUP.read_text().strip() == "1"
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return False
    groups = {c: path for _, c, path in (line.split(":", 2) for line in lines)}
    cpu = next((path for names, path in groups.items() if "cpu" in names.split(",")), groups.get("", "/"))
    return enabled and cpu == "/"


@contextlib.contextmanager
def one_group() -> Iterator[Path | None]:
    """A control group for what is measured (see wrap()), removed at the end; None where it is not needed or allowed."""
    root = _root_of_cpu() if autogroups() else None
    group = None
    if root is not None:
        with contextlib.suppress(OSError):
            (root / f"millrace-{os.getpid()}").mkdir()
            group = root / f"millrace-{os.getpid()}"
    try:
        yield group
    finally:
        if group is not None and root is not None:
            _remove(group, root)


def _remove(group: Path, root: Path) -> None:
    deadline = time.monotonic() + 5  # agents stay for 2 s without ranks
    while (group / "cgroup.procs").read_text().strip() and time.monotonic() < deadline:
        time.sleep(0.1)
    with contextlib.suppress(OSError):
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (root / "cgroup.procs").write_text(pid)
        group.rmdir()


def wrap(group: Path | None, command: list[str]) -> list[str]:
    """A command that starts this command in the group."""
    if group is None:
        return command
    return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"), *command]
