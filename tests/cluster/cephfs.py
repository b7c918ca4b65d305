# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""CephFS on the nodes of a cluster: a monitor, three object servers and a metadata server on node 0, a mount on each
node by ceph-fuse. All of it ends with the nodes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from millrace.tools.cluster import gluster

PLACE = Path("/local/ceph")  # each node's own
MOUNT = PLACE / "mount"
PACKAGES = "ceph-mon ceph-mgr ceph-osd ceph-mds ceph-fuse"
OBJECT_SERVERS = 3
_PROGRAMS = ("ceph", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-fuse")

# Nobody else reaches the nodes' network, so nobody has to prove who he is.
_SETTINGS = f"""
[global]
mon host = v1:$address:6789
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
keyring = {PLACE}/keyring
ms bind msgr2 = false
fuse disable pagecache = true
mon data avail warn = 1
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
osd crush update on start = false
osd class update on start = false
bluestore block create = true
bluestore block size = 2147483648
run dir = {PLACE}/run
log file = {PLACE}/run/$name.log
admin socket = {PLACE}/run/$name.socket
pid file = {PLACE}/run/$name.pid
mon data = {PLACE}/mon
mgr data = {PLACE}/mgr
mds data = {PLACE}/mds
osd data = {PLACE}/osd$id
"""

_EACH = f"""
set -e
mkdir -p {PLACE}/run {MOUNT}
sed "s/\\$address/$1/" >{PLACE}/ceph.conf
"""

_SERVERS = f"""
set -e
cd {PLACE}
export CEPH_CONF={PLACE}/ceph.conf
cluster=$(cat /proc/sys/kernel/random/uuid)
echo "fsid = $cluster" >>ceph.conf
mkdir mon mgr mds
ceph-authtool --create-keyring keyring --gen-key -n mon. --cap mon 'allow *'
ceph-authtool keyring --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mds 'allow *'
monmaptool --create --add a $1:6789 --fsid $cluster monmap
ceph-mon --mkfs -i a --monmap monmap --keyring keyring
ceph-mon -i a
ceph-mgr -i x
for i in $(seq 0 {OBJECT_SERVERS - 1}); do
  mkdir osd$i
  name=$(cat /proc/sys/kernel/random/uuid)
  ceph osd new $name $i
  ceph-osd -i $i --mkfs --osd-uuid $name
  ceph osd crush add osd.$i 1 root=default host=h$i
  ceph-osd -i $i
done
ceph osd pool create meta 8
ceph osd pool create data 8
ceph fs new fs meta data
ceph-mds -i m
for i in $(seq 300); do ceph mds stat | grep -q up:active && exit 0; sleep 0.2; done
ceph -s
exit 1
"""
_MOUNT = f"CEPH_CONF={PLACE}/ceph.conf timeout 60 ceph-fuse {MOUNT}"


def missing() -> str:
    """Why CephFS cannot be used here; empty if it can."""
    absent = [program for program in _PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"{', '.join(absent)} not found (Debian, Ubuntu: apt install {PACKAGES})"
    return "" if Path("/dev/fuse").exists() else "this kernel has no FUSE (/dev/fuse is not there)"


def set_up(call: Callable[..., object], addresses: list[str]) -> None:
    """Starts the servers on node 0, mounts on all nodes. `call(node, command, input)` raises an error if it fails."""
    nodes = range(len(addresses))
    for node in nodes:
        call(node, ["bash", "-c", _EACH, "each", addresses[0]], _SETTINGS)
    call(0, ["bash", "-c", _SERVERS, "servers", addresses[0]])
    for node in nodes:
        call(node, ["bash", "-c", _MOUNT])
    gluster.wait_until_mounted(call, len(addresses), MOUNT)
