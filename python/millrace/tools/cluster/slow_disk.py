# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Slow disks: a node's /local, and folders that were named, behind bench/slow_disk (FUSE).

Each node has a disk of its own for /local, and one more for each folder. The daemon runs in the node and ends with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from millrace import prefix
from millrace.tools.cluster.state import LOCAL, ClusterError, Node, Spec

_PLACES = ("bin/bench/slow-disk", "libexec/millrace/bench/slow-disk")  # in a build folder, in a prefix


def find_program(environment: Mapping[str, str]) -> str:
    """The program; empty if it is not built."""
    for root in prefix.candidates(environment):
        for place in _PLACES:
            path = os.path.join(root, place)
            if os.access(path, os.X_OK):
                return path
    return ""


def check(spec: Spec) -> None:
    if not spec.disk_rate_bytes:
        if spec.slow:
            raise ClusterError("--slow needs a rate: --disk-rate 40MiB/s")
        if spec.read_rate_bytes:
            raise ClusterError("--read-rate needs a rate of writes too: --disk-rate 40MiB/s")
        return
    for folder in spec.slow:
        if not os.path.isdir(folder):
            raise ClusterError(f"--slow {folder}: there is no such folder")
    if not spec.slow_program:
        raise ClusterError(
            "--disk-rate: the program slow-disk is not built; it needs libfuse 3 (Debian, Ubuntu: libfuse3-dev)"
        )
    if not Path("/dev/fuse").exists():
        raise ClusterError("--disk-rate: this kernel has no FUSE (/dev/fuse is not there)")


def mount(spec: Spec, one: Node, run: Callable[[Node, list[str]], str]) -> None:
    """Mounts the slow disks in a node that has just booted."""
    if spec.disk_rate_bytes:
        for folder in (str(LOCAL), *spec.slow):
            rates = [str(spec.disk_rate_bytes), str(spec.read_rate_bytes)]
            run(one, [spec.slow_program, *rates, str(spec.seek_time_us), folder, folder])
