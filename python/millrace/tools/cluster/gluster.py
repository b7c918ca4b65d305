# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""GlusterFS on the nodes of a cluster: its bricks on node 0, a mount on each node. All of it ends with the nodes.

The mounts keep no file attributes. With GlusterFS's caches of one second, a node sees a file of another node too short
right after its close, with the stock MPI library too.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

PLACE = Path("/local/peer")  # each node's own
MOUNT = PLACE / "mount"
PACKAGES = "glusterfs-server glusterfs-client"
_PROGRAMS = ("glusterd", "gluster", "glusterfs")
_SEARCH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
_STATE = ("/var/lib/glusterd", "/run/gluster", "/var/log/glusterfs")

# The daemons keep their state in folders of the machine. Each node gets folders of its own in their place.
_EACH = f"""
set -e
mkdir -p {PLACE}/state {PLACE}/run {PLACE}/log {MOUNT} {' '.join(_STATE)}
cp -a /var/lib/glusterd/. {PLACE}/state/
mount --bind {PLACE}/state /var/lib/glusterd
mount --bind {PLACE}/run /run/gluster
mount --bind {PLACE}/log /var/log/glusterfs
"""
_SERVER = f"""
set -e
glusterd -p {PLACE}/glusterd.pid
for i in $(seq "$1"); do mkdir -p {PLACE}/brick$i; bricks="$bricks node0:{PLACE}/brick$i"; done
gluster --mode=script volume create bench transport tcp $bricks force
gluster --mode=script volume set bench performance.stat-prefetch off
gluster --mode=script volume start bench
"""
_MOUNT = f"mount -t glusterfs -o attribute-timeout=0,entry-timeout=0 node0:/bench {MOUNT}"


def missing() -> str:
    """Why GlusterFS cannot be used here; empty if it can."""
    absent = [program for program in _PROGRAMS if shutil.which(program, path=_SEARCH) is None]
    if absent:
        return f"{', '.join(absent)} not found (Debian, Ubuntu: apt install {PACKAGES})"
    return "" if Path("/dev/fuse").exists() else "this kernel has no FUSE (/dev/fuse is not there)"


@contextlib.contextmanager
def without_traces() -> Iterator[None]:
    """At the end, removes the machine's folders over which the nodes mount, if they were not there before."""
    absent = [path for path in map(Path, _STATE) if not path.exists()]
    try:
        yield
    finally:
        for path in absent:
            with contextlib.suppress(OSError):  # it does not exist, or another program uses it
                path.rmdir()


def set_up(call: Callable[[int, list[str]], object], nodes: int, bricks: int = 1) -> None:
    """Starts the server and mounts the volume on all nodes. Files are dealt to the bricks. `call(node, command)` raises
    an error if it fails."""
    for node in range(nodes):
        call(node, ["bash", "-c", _EACH])
    call(0, ["bash", "-c", _SERVER, "server", str(bricks)])
    for node in range(nodes):
        call(node, ["bash", "-c", _MOUNT])
    wait_until_mounted(call, nodes, MOUNT)


def wait_until_mounted(call: Callable[[int, list[str]], object], nodes: int, mount: Path) -> None:
    """Servers take writes a moment after they have started."""
    mounted = f"grep -q ' {mount} fuse' /proc/mounts || {{ echo nothing is mounted on {mount}; exit 1; }}"
    probe = f"for i in $(seq 100); do echo x > {mount}/probe && sync {mount}/probe && exit 0; sleep 0.1; done; exit 1"
    for script in (mounted, probe):
        for node in range(nodes):
            call(node, ["bash", "-c", script])
