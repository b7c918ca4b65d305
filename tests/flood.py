# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Connects with an agent as fast as it can, as a stranger would, and proves nothing; keeps its newest connections.

Gives way to everybody else for the processor (SCHED_IDLE): what slows a job down is what the agent does about it.
Says "begun", and "floods" when it has connected more than 500 times. Ends when its standard input does, or after
SECONDS, and says how often it connected.

usage: flood.py unix NAME [SECONDS]        the abstract socket of an agent
       flood.py tcp HOST PORT [SECONDS]    an agent's port
With FLOOD_UID set, as that user."""

import collections
import contextlib
import errno
import os
import pathlib
import select
import socket
import sys
import time

KEPT = 800
MANY = 500


def connect(target: tuple) -> socket.socket:
    """OSError: nobody listens there now, or their queue is full."""
    local = len(target) == 1
    one = socket.socket(*((socket.AF_UNIX, socket.SOCK_SEQPACKET) if local else (socket.AF_INET, socket.SOCK_STREAM)))
    one.setblocking(False)
    error = one.connect_ex(f"\0{target[0]}" if local else target)
    if error not in (0, errno.EINPROGRESS):
        one.close()
        raise OSError(error, os.strerror(error))
    return one


def main() -> None:
    words = sys.argv[2:]
    target = (words.pop(0),) if sys.argv[1] == "unix" else (words.pop(0), int(words.pop(0)))
    end = time.monotonic() + (float(words[0]) if words else 3600)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(OSError):  # the session's share; without it, each session has the same
        pathlib.Path("/proc/self/autogroup").write_text("19")
    if "FLOOD_UID" in os.environ:
        os.setuid(int(os.environ["FLOOD_UID"]))
    kept: collections.deque[socket.socket] = collections.deque()
    connected, told = 0, False
    print("begun", flush=True)
    while time.monotonic() < end and not select.select([0], [], [], 0)[0]:
        for _ in range(50):
            try:
                kept.append(connect(target))
                connected += 1
            except OSError:
                time.sleep(0.001)
            if len(kept) > KEPT:
                kept.popleft().close()
        if connected > MANY and not told:
            told = True
            print("floods", flush=True)
    print("connected", connected, flush=True)


if __name__ == "__main__":
    main()
