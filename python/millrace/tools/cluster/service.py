# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one command in a node for one client: the part on the keeper's side.

Each command has a process here, forked from the keeper. It enters the node, forks the command, passes the
client's signals on and sends back how the command ended. A process inside a node cannot enter another node, but
it reaches the keeper's socket through the file system: that is how launchers start ranks on other nodes.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from typing import Any

from millrace.tools.cluster import system, wire

EXIT_CANNOT_EXECUTE, EXIT_NOT_FOUND = 126, 127
_REQUEST_TIMEOUT_S = 10
_GRACE_S = 3.0  # from SIGHUP until SIGKILL, for a command whose client has gone


def serve(link: socket.socket, nodes: dict[str, int]) -> None:
    """Serves one command. `nodes` has a pidfd for each running node. Returns when the command has ended."""
    link.settimeout(_REQUEST_TIMEOUT_S)
    request, fds = wire.receive(link)
    link.settimeout(None)
    if request is None or len(fds) != 3:
        return
    if request["node"] not in nodes:
        wire.send(link, {"error": f"{request['node']} is dead", "status": EXIT_CANNOT_EXECUTE})
        return
    system.setns(nodes[request["node"]], system.CLONE_ALL)
    started, told = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(request, fds, told)
    os.close(told)
    for fd in fds:
        os.close(fd)
    problem = os.read(started, 4096)
    os.close(started)
    if problem:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        wire.send(link, {"error": problem.decode(errors="replace"), "status": status})
        return
    wire.send(link, {"wait_status": _watch(link, pid)})


def _become(request: dict[str, Any], fds: list[int], told: int) -> None:
    """Runs in the command's process and never returns. The command inherits only the limits of the keeper."""
    status, said = EXIT_CANNOT_EXECUTE, ""
    try:
        os.setsid()
        # Moves them above 2 first, so that no dup2 closes a descriptor that is still needed.
        high = [os.dup(fd) if fd < 3 else fd for fd in fds]
        for i, fd in enumerate(high):
            os.dup2(fd, i)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(request["umask"])
        said = f"there is no folder {request['cwd']} in {request['node']} (/tmp is the node's own: up --shared DIR)"
        os.chdir(request["cwd"])
        said = request["argv"][0]
        os.closerange(3, told)
        os.closerange(told + 1, os.sysconf("SC_OPEN_MAX"))
        os.execvpe(request["argv"][0], request["argv"], request["environment"])
    except OSError as error:
        if said == request["argv"][0]:
            said = f"{said}: {error.strerror}"
            status = EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_CANNOT_EXECUTE
    except BaseException as error:
        said = str(error)
    os.write(told, (said or "unknown").encode()[:4096])
    os._exit(status)


def _watch(link: socket.socket, pid: int) -> int:
    """Waits for the command, passes signals on, and returns the wait status. Ends it if its client has gone."""
    poll = select.poll()
    process = os.pidfd_open(pid)
    poll.register(process, select.POLLIN)
    poll.register(link, select.POLLIN)
    deadline = None
    while True:
        patience = None if deadline is None else max(0, round((deadline - time.monotonic()) * 1000))
        ready = {fd for fd, _ in poll.poll(patience)}
        if process in ready:
            return os.waitpid(pid, 0)[1]
        if deadline is not None:
            _signal(pid, signal.SIGKILL, whole_group=True)
            deadline = time.monotonic() + _GRACE_S
        elif link.fileno() in ready:
            message = None
            with contextlib.suppress(OSError, ValueError):
                message = wire.receive(link)[0]
            if message is None:
                poll.unregister(link)
                _signal(pid, signal.SIGHUP, whole_group=True)
                _signal(pid, signal.SIGCONT, whole_group=True)
                deadline = time.monotonic() + _GRACE_S
            else:
                _signal(pid, int(message["signal"]), bool(message.get("group")))


def _signal(pid: int, number: int, whole_group: bool) -> None:
    """Signals the command. It has not been waited for, so no other process has its number."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number) if whole_group else os.kill(pid, number)
