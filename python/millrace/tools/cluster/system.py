# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The Linux calls that Python's library lacks."""

from __future__ import annotations

import ctypes
import os
import re
import signal
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
CLONE_ALL = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET

MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Makes new namespaces for this process; a new PID namespace applies to its later children."""
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, flags: int) -> None:
    """Enters namespaces: `fd` is one of /proc/PID/ns, or a pidfd whose namespaces of `flags` are meant."""
    _check(_libc.setns(fd, flags), "setns")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    words = [None if text is None else text.encode() for text in (source, target, kind, data)]
    result = _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    _check(result, f"mount {source} on {target}")


def die_with_parent() -> None:
    """The kernel kills this process when its parent ends for any reason."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0), "prctl")


def name_process(name: str) -> None:
    _check(_libc.prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()), 0, 0, 0), "prctl")


def missing_capabilities() -> list[str]:
    """The rights that a cluster needs and this process lacks."""
    match = re.search(r"^CapEff:\s*([0-9a-f]+)$", Path("/proc/self/status").read_text(), re.M)
    effective = int(match[1], 16) if match else 0
    return [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]


def start_time(pid: int) -> int:
    """The start of a process, in ticks since boot; 0 if it has ended. Pid and start together identify a process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    fields = stat.rsplit(")", 1)[1].split()
    return 0 if fields[0] == "Z" else int(fields[19])


def is_running(pid: int, started: int) -> bool:
    return pid > 0 and started > 0 and start_time(pid) == started
