# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""One node: its first process, which makes the node's world and then only reaps.

It is a child of the keeper and the first process of a PID namespace: the kernel kills it with the keeper, and
everything in the node with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import traceback

from millrace.tools.cluster import mounts, network, system
from millrace.tools.cluster.state import ClusterError, Spec, host_name

_APART, _PLUGGED, _READY = b"apart", b"plugged", b"ready"
_TIMEOUT_S = 60
_MESSAGE_MAX = 4096


def start(spec: Spec, index: int) -> int:
    """Boots a node and returns its first process, a child of this one. If it fails, nothing remains."""
    mounts.make_storage(spec, index)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        system.unshare(system.CLONE_NEWPID)
        pid = os.fork()
        if pid == 0:
            _first_process(spec, index, theirs)
        system.setns(own, system.CLONE_NEWPID)
    finally:
        os.close(own)
        theirs.close()
    ours.settimeout(_TIMEOUT_S)
    try:
        with ours:
            _expect(ours, _APART)
            network.plug_in(spec, index, pid)
            ours.send(_PLUGGED)
            _expect(ours, _READY)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        network.unplug(index)
        raise
    return pid


def _expect(link: socket.socket, word: bytes) -> None:
    said = link.recv(_MESSAGE_MAX)
    if said != word:
        raise ClusterError(
            said.decode(errors="replace") or "the node's first process ended before the node was ready", 1
        )


def _first_process(spec: Spec, index: int, link: socket.socket) -> None:
    """Runs the node's first process. Never returns."""
    try:
        system.die_with_parent()
        system.name_process("millrace-node")
        keep = link.detach()
        os.closerange(3, keep)
        os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
        with socket.socket(fileno=keep) as link:
            link.settimeout(_TIMEOUT_S)
            try:
                _make(spec, index, link)
            except Exception as error:
                link.send(f"{host_name(index)}: {error}".encode()[:_MESSAGE_MAX])
                raise
            link.send(_READY)
        _reap_forever()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _make(spec: Spec, index: int, link: socket.socket) -> None:
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    system.unshare(system.CLONE_ALL & ~system.CLONE_NEWPID)
    socket.sethostname(host_name(index))
    link.send(_APART)
    _expect(link, _PLUGGED)
    network.set_up_node(spec, index)
    mounts.make_private(spec, index)
    os.chdir("/")


def _reap_forever() -> None:
    """Orphans of the node become children of its first process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        signal.sigtimedwait({signal.SIGCHLD}, 60)
