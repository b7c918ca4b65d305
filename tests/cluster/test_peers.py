# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Random programs across two nodes on real networked file systems: each node has a mount of its own.

The mounts keep no pages, and GlusterFS's clients cache nothing. With the defaults, a node reads old bytes of another
node now and then, and two runs of the stock library give different files.
"""

import sys
from collections.abc import Callable

import cephfs
import pytest
from conftest import BUILD, ROOT
from jobs import LAUNCHERS, nodes_up, shared_folder
from millrace.tools.cluster import gluster

DIFFERENTIAL = ROOT / "tests/mpi/differential/differential.py"
RANKS, CASES = 4, 40


def caller(up) -> Callable[..., object]:
    def call(node, command, text=None):
        done = up.cluster.run(node, *command, **({} if text is None else {"input": text}))
        assert done.returncode == 0, f"{command[2:]}\n{done.stdout}{done.stderr}"

    return call


def glusterfs(up):
    call, mount = caller(up), gluster.PLACE / "uncached"
    gluster.set_up(call, up.count, bricks=3)
    for cache in ("write-behind", "io-cache", "read-ahead", "quick-read", "open-behind"):
        call(0, ["gluster", "--mode=script", "volume", "set", "bench", f"performance.{cache}", "off"])
    options = "attribute-timeout=0,entry-timeout=0,direct-io-mode=enable"
    for node in range(up.count):
        call(node, ["bash", "-c", f"mkdir {mount} && mount -t glusterfs -o {options} node0:/bench {mount}"])
    return mount


def ceph(up):
    cephfs.set_up(caller(up), [node["address"] for node in up.cluster.status()["nodes"]])
    return cephfs.MOUNT


PEERS = {"glusterfs": (glusterfs, gluster.missing), "cephfs": (ceph, cephfs.missing)}


@pytest.fixture(scope="module", params=list(PEERS))
def peer(request):
    set_up, missing = PEERS[request.param]
    if missing():
        pytest.skip(missing())
    slots = ("--slots", RANKS // 2)
    with gluster.without_traces(), shared_folder() as folder, nodes_up("peers", 2, folder, "1gbit", *slots) as up:
        yield up, set_up(up)


@pytest.mark.parametrize("mpi", list(LAUNCHERS))
def test_random_programs_write_and_see_what_the_library_does(peer, mpi):
    up, mount = peer
    program = BUILD / f"bin/differential_{mpi}"
    if not LAUNCHERS[mpi] or not program.exists():
        pytest.skip(f"no {mpi} here")
    words = [sys.executable, DIFFERENTIAL, "--mpi", mpi, "--launcher", LAUNCHERS[mpi], "--program", program]
    words += [
        "--preload",
        BUILD / "lib/libmillrace.so",
        "--across",
        "--folder",
        mount,
        "--ranks",
        RANKS,
        "--cases",
        CASES,
    ]
    done = up.cluster.run(0, *words, "--also", "MILLRACED_LINGER_MS=500", timeout=3000, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
