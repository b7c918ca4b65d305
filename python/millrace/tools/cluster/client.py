# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The client's side of a cluster's two sockets. Standard library only: launchers start it once per node."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millrace.run.signals import FORWARDED
from millrace.tools.cluster import wire
from millrace.tools.cluster.state import ClusterError

CONTROL_TIMEOUT_S = 120
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)


def connect(folder: Path, name: str) -> socket.socket:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Uses a descriptor, because a socket's path has at most 107 bytes.
    try:
        fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            link.connect(f"/proc/self/fd/{fd}/{name}")
        finally:
            os.close(fd)
    except OSError as error:
        link.close()
        raise ClusterError(f"the cluster in {folder} does not answer: {error.strerror}") from None
    return link


def control(folder: Path, request: Mapping[str, Any]) -> None:
    """Asks the keeper to change the cluster; returns when that is done."""
    with connect(folder, "control") as link:
        link.settimeout(CONTROL_TIMEOUT_S)
        try:
            wire.send(link, dict(request))
            answer, _ = wire.receive(link)
        except OSError as error:
            raise ClusterError(f"the cluster in {folder} does not answer: {error}", 1) from None
    if answer is None:
        if request["do"] != "down":
            raise ClusterError("the cluster ended while the command ran", 1)
    elif "error" in answer:
        raise ClusterError(answer["error"], answer["status"])


def run(
    folder: Path,
    node: str,
    argv: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    streams: tuple[int, ...] | None = None,
) -> int:
    """Runs a command in a node with this process's stdin, stdout and stderr, or with `streams`; its wait status.

    Raises ClusterError if it cannot be started.
    """
    request = {
        "node": node,
        "argv": list(argv),
        "cwd": cwd,
        "umask": _umask(),
        "environment": dict(environment),
    }
    with connect(folder, "run") as link, _signals() as arrived:
        with contextlib.suppress(OSError):  # the answer, or its absence, has the reason
            wire.send(link, request, streams or _standard_streams())
        while True:
            ready, _, _ = select.select([link, arrived], [], [])
            if arrived in ready:
                _pass_on(link, os.read(arrived, 64))
            if link in ready:
                break
        try:
            answer, _ = wire.receive(link)
        except OSError:
            answer = None
    if answer is None:
        raise ClusterError(f"the cluster of {node} ended", 255)
    if "error" in answer:
        raise ClusterError(answer["error"], answer["status"])
    return int(answer["wait_status"])


def _pass_on(link: socket.socket, numbers: bytes) -> None:
    for number in numbers:
        # A terminal's signal is for the whole foreground process group.
        group = number in _FROM_TERMINAL and sys.stdin is not None and os.isatty(0)
        with contextlib.suppress(OSError):
            wire.send(link, {"signal": number, "group": group})


@contextlib.contextmanager
def _signals() -> Any:
    """A descriptor from which the number of each arriving signal can be read."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    before = {number: signal.getsignal(number) for number in FORWARDED}
    waker = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in FORWARDED:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    try:
        yield reader
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(waker)
        os.close(reader)
        os.close(writer)


def _standard_streams() -> tuple[int, ...]:
    """The three standard streams; /dev/null replaces a stream that this process lacks."""
    found = []
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the number `fd`, the lowest free one
        found.append(fd)
    return tuple(found)


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def read_spec(folder: Path) -> dict[str, Any]:
    """The cluster's specification, as the launcher agent needs it."""
    return json.loads((folder / "spec.json").read_text(encoding="utf-8"))
