# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Networked file systems to compare with: the server on node 0, a mount on every node. They die with the nodes.

Neither keeps file attributes: see millrace.tools.cluster.gluster.
"""

from __future__ import annotations

import pathlib
import shutil

from millrace.tools.cluster import gluster

from .nodes import Nodes

PLACE, MOUNT = gluster.PLACE, gluster.MOUNT

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

_MOOSE_PROGRAMS = ("mfsmaster", "mfschunkserver", "mfsmount")
NAMES = ("glusterfs", "moosefs")


def missing(name: str) -> str:
    """Why it cannot be measured here; empty if it can."""
    if name == "glusterfs":
        return gluster.missing()
    absent = [
        p for p in _MOOSE_PROGRAMS if shutil.which(p, path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin") is None
    ]
    if absent:
        packages = "moosefs-master moosefs-chunkserver moosefs-client"
        return f"{', '.join(absent)} not found (Debian, Ubuntu: apt install {packages})"
    return "" if pathlib.Path("/dev/fuse").exists() else "this kernel has no FUSE (/dev/fuse is not there)"


def set_up(name: str, nodes: Nodes) -> None:
    """Starts the servers and mounts it on all nodes; RunFailed says what went wrong."""
    if name == "glusterfs":
        gluster.set_up(nodes.call, nodes.shape.nodes)
        return
    nodes.everywhere(["mkdir", "-p", str(MOUNT)])
    nodes.call(0, ["bash", "-c", _MOOSE_SERVER])
    nodes.everywhere(["bash", "-c", _MOOSE_MOUNT])
    gluster.wait_until_mounted(nodes.call, nodes.shape.nodes, MOUNT)
