# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Networked file systems to compare with: the server on node 0, a mount on every node. They die with the nodes.

Both are told not to keep file attributes: with their caches of one second a node sees another one's file too
short right after its close, with the stock library too, and nothing could be verified.
"""

from __future__ import annotations

import pathlib
import shutil

from .nodes import Nodes

PLACE = pathlib.Path("/local/peer")  # of each node's own
MOUNT = PLACE / "mount"

# What its daemons keep is the machine's for all nodes, unless each node has its own.
_GLUSTER_EACH = f"""
set -e
mkdir -p {PLACE}/state {PLACE}/run {PLACE}/log {PLACE}/brick {MOUNT} /var/lib/glusterd /run/gluster /var/log/glusterfs
cp -a /var/lib/glusterd/. {PLACE}/state/
mount --bind {PLACE}/state /var/lib/glusterd
mount --bind {PLACE}/run /run/gluster
mount --bind {PLACE}/log /var/log/glusterfs
"""
_GLUSTER_SERVER = f"""
set -e
glusterd -p {PLACE}/glusterd.pid
gluster --mode=script volume create bench transport tcp node0:{PLACE}/brick force
gluster --mode=script volume set bench performance.stat-prefetch off
gluster --mode=script volume start bench
"""
_GLUSTER_MOUNT = f"mount -t glusterfs -o attribute-timeout=0,entry-timeout=0 node0:/bench {MOUNT}"

_MOOSE_SERVER = f"""
set -e
cd {PLACE}
mkdir -p state chunks
cp /var/lib/mfs/metadata.mfs.empty state/metadata.mfs
echo '* / rw,alldirs,maproot=0' > exports.cfg
echo '{PLACE}/chunks' > hdd.cfg
for kind in master chunkserver; do
  printf '%s\\n' WORKING_USER=root WORKING_GROUP=root DATA_PATH={PLACE}/state EXPORTS_FILENAME={PLACE}/exports.cfg \\
    HDD_CONF_FILENAME={PLACE}/hdd.cfg MASTER_HOST=node0 > $kind.cfg
  mfs$kind -c $kind.cfg start > $kind.log 2>&1 || {{ cat $kind.log; exit 1; }}
done
"""
_MOOSE_MOUNT = f"mfsmount {MOUNT} -H node0 -o mfsattrcacheto=0,mfsentrycacheto=0,mfsdirentrycacheto=0"

_PROGRAMS = {
    "glusterfs": (("glusterd", "gluster", "glusterfs"), "glusterfs-server glusterfs-client"),
    "moosefs": (("mfsmaster", "mfschunkserver", "mfsmount"), "moosefs-master moosefs-chunkserver moosefs-client"),
}
NAMES = tuple(_PROGRAMS)


def missing(name: str) -> str:
    """Why it cannot be measured here; empty if it can."""
    programs, packages = _PROGRAMS[name]
    absent = [p for p in programs if shutil.which(p, path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin") is None]
    if absent:
        return f"{', '.join(absent)} not found (Debian, Ubuntu: apt install {packages})"
    return "" if pathlib.Path("/dev/fuse").exists() else "this kernel has no FUSE (/dev/fuse is not there)"


def set_up(name: str, nodes: Nodes) -> None:
    """Starts the servers and mounts it on all nodes; RunFailed says what went wrong."""
    if name == "glusterfs":
        nodes.everywhere(["bash", "-c", _GLUSTER_EACH])
        nodes.call(0, ["bash", "-c", _GLUSTER_SERVER])
        nodes.everywhere(["bash", "-c", _GLUSTER_MOUNT])
    else:
        nodes.everywhere(["mkdir", "-p", str(MOUNT)])
        nodes.call(0, ["bash", "-c", _MOOSE_SERVER])
        nodes.everywhere(["bash", "-c", _MOOSE_MOUNT])
    # Servers take writes a moment after they have started.
    mounted = f"grep -q ' {MOUNT} fuse' /proc/mounts || {{ echo nothing is mounted on {MOUNT}; exit 1; }}"
    probe = f"for i in $(seq 100); do echo x > {MOUNT}/probe && sync {MOUNT}/probe && exit 0; sleep 0.1; done; exit 1"
    nodes.everywhere(["bash", "-c", mounted])
    nodes.everywhere(["bash", "-c", probe])
