# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A node's view of the file system: the machine's, except for the node's own folders."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from millrace.tools.cluster import system
from millrace.tools.cluster.state import LOCAL, Spec, address, host_name

_PRIVATE = ("/tmp", "/var/tmp", "/dev/shm")  # each node's own
_CGROUP = "/sys/fs/cgroup"
_PLAIN = system.MS_NOSUID | system.MS_NODEV | system.MS_NOEXEC


def hosts(spec: Spec) -> str:
    """The text of /etc/hosts for all nodes."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    lines += [f"{address(i)} {host_name(i)}" for i in range(spec.nodes)]
    return "\n".join(lines) + "\n"


def hidden(paths: Iterable[Path]) -> list[str]:
    """Those of the folders that no node sees unless `up --shared` names them; without those inside others."""
    inside = {path for path in paths if any(path.is_relative_to(place) for place in _PRIVATE)}
    return sorted(str(path) for path in inside if not inside & set(path.parents))


def make_storage(spec: Spec, index: int) -> None:
    """Prepares each boot: /tmp is empty, and /var/tmp and /local are as the node left them."""
    own = spec.own(index)
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(own / "tmp")
    for name, mode in (("tmp", 0o1777), ("var-tmp", 0o1777), ("local", 0o1777)):
        folder = own / name
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)


def _bind(fd: int, target: str) -> None:
    system.mount(f"/proc/self/fd/{fd}", target, flags=system.MS_BIND | system.MS_REC)


def make_private(spec: Spec, index: int) -> None:
    """By the first process of a node, in a new mount namespace. Later mounts of the machine appear here too;
    mounts of the node appear nowhere else."""
    system.mount("none", "/", flags=system.MS_REC | system.MS_SLAVE)
    # Keeps descriptors, because later mounts hide some of these folders.
    shared = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY)) for path in spec.shared]
    cgroup = os.open(_CGROUP, os.O_PATH) if os.path.isdir(_CGROUP) else -1
    system.mount("proc", "/proc", "proc", _PLAIN)
    # MPI libraries look here for the interfaces of this network namespace.
    system.mount("sysfs", "/sys", "sysfs", _PLAIN)
    if cgroup >= 0 and os.path.isdir(_CGROUP):
        _bind(cgroup, _CGROUP)
    system.mount("tmpfs", "/dev/shm", "tmpfs", system.MS_NOSUID | system.MS_NODEV, "mode=1777")
    own = spec.own(index)
    system.mount(str(own / "tmp"), "/tmp", flags=system.MS_BIND)
    system.mount(str(own / "var-tmp"), "/var/tmp", flags=system.MS_BIND)
    system.mount(str(own / "local"), str(LOCAL), flags=system.MS_BIND)
    system.mount(str(spec.folder / "hosts"), "/etc/hosts", flags=system.MS_BIND)
    for path, fd in shared:
        os.makedirs(path, exist_ok=True)
        _bind(fd, path)
