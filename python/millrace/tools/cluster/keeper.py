# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The process that holds a cluster: started by `up`, ended by `down`.

It lives in the switch's network namespace, is the parent of every node's first process, and listens on two
sockets in the cluster's folder: `control` for what changes the cluster, one request after the other, and `run`
for commands, each of which gets a process of its own (service.py). One thread; the only writer of the state.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from millrace.tools.cluster import launchers, mounts, network, node, service, slow_disk, slurm, state, system, wire
from millrace.tools.cluster.state import CUT, DEAD, UP, ClusterError, Node, Spec

_REQUEST_TIMEOUT_S = 10
_BACKLOG = 512


class Keeper:
    """Owns the nodes of one cluster, from build() to tear_down()."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.state = state.new_state(spec)
        self.state.keeper, self.state.started = os.getpid(), system.start_time(os.getpid())
        self._pidfds: dict[str, int] = {}
        self._listeners: dict[str, socket.socket] = {}
        self._wakeup: tuple[int, int] = (-1, -1)

    def build(self) -> None:
        """Makes all parts, or raises; the caller then calls tear_down()."""
        system.name_process("millrace-keeper")
        self.state.hold()
        self.state.write()
        state.write_file(self.spec.folder / "hosts", mounts.hosts(self.spec), 0o644)
        launchers.write_files(self.spec)
        self._listen()
        system.unshare(system.CLONE_NEWNET)
        network.make_switch(self.spec)
        for one in self.state.nodes:
            self._boot(one)
        if self.spec.slurm:
            slurm.start(self.spec, self.state.nodes, self.run)
        self.state.write()

    def _listen(self) -> None:
        os.chdir(self.spec.folder)  # a socket's path has at most 107 bytes
        for name in ("control", "run"):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(name)
            listener.listen(_BACKLOG)
            self._listeners[name] = listener
        os.chdir("/")

    def _boot(self, one: Node) -> None:
        one.pid = node.start(self.spec, one.index)
        one.started = system.start_time(one.pid)
        one.state = UP
        self._pidfds[one.name] = os.pidfd_open(one.pid)
        try:
            slow_disk.mount(self.spec, one, self.run)
        except BaseException:
            self._stop(one)
            raise

    def run(self, one: Node, argv: list[str], timeout_s: float = 30) -> str:
        """Runs one of the cluster's programs in a node and returns its output. Raises ClusterError if it fails."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._in_node(one, argv, writer)
        os.close(writer)
        said = b""
        with open(reader, "rb") as file:
            while select.select([file], [], [], timeout_s)[0]:
                more = os.read(file.fileno(), 65536)
                if not more:
                    break
                said += more
            else:
                os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status != 0:
            text = said.decode(errors="replace").strip()
            raise ClusterError(f"{one.name}: {argv[0]}: {text or f'exit status {status}'}", 1)
        return said.decode(errors="replace")

    def _in_node(self, one: Node, argv: list[str], out: int) -> None:
        """Runs in a forked process and never returns. Forks twice, because a new PID namespace is for children only."""
        try:
            self._forget()
            system.setns(self._pidfds[one.name], system.CLONE_ALL)
            pid = os.fork()
            if pid:
                os._exit(max(0, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])) & 0xFF)
            os.setsid()
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.chdir("/")
            os.execvp(argv[0], argv)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(1, str(error).encode())
        finally:
            os._exit(126)

    def serve(self) -> None:
        """Serves requests until `down` or SIGTERM."""
        self._wakeup = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(self._wakeup[1], warn_on_full_buffer=False)
        stopped: list[int] = []
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
        poll = select.poll()
        for fd in (*self._listeners.values(), self._wakeup[0]):
            poll.register(fd, select.POLLIN)
        while not stopped:
            ready = {fd for fd, _ in poll.poll()}
            with contextlib.suppress(BlockingIOError):
                os.read(self._wakeup[0], 4096)
            self._reap()
            if self._listeners["run"].fileno() in ready:
                self._accept_command()
            if self._listeners["control"].fileno() in ready and self._accept_control():
                return

    def _reap(self) -> None:
        """Collects ended commands, and nodes that ended by themselves."""
        with contextlib.suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                for one in self.state.nodes:
                    if one.pid == pid:
                        self._gone(one)
                        self.state.write()

    def _accept_command(self) -> None:
        link, _ = self._listeners["run"].accept()
        with link:
            if os.fork() == 0:
                try:
                    self._forget()
                    service.serve(link, self._pidfds)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(0)

    def _forget(self) -> None:
        """For a forked process: drops the keeper's sockets and signals."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for listener in self._listeners.values():
            listener.close()
        for fd in self._wakeup:
            if fd >= 0:
                os.close(fd)

    def _accept_control(self) -> bool:
        """Serves one request. True if the cluster has to end. The answer to `down` is the end of the stream."""
        link, _ = self._listeners["control"].accept()
        with link, contextlib.suppress(OSError, ValueError):
            link.settimeout(_REQUEST_TIMEOUT_S)
            request, _ = wire.receive(link)
            if request is None:
                return False
            if request["do"] == "down":
                self.tear_down()
                return True
            try:
                self._change(request["do"], self.state.nodes[request["node"]])
                wire.send(link, {"ok": True})
            except Exception as error:
                wire.send(link, {"error": str(error), "status": getattr(error, "status", 1)})
        return False

    def _change(self, what: str, one: Node) -> None:
        if what == "boot":
            if one.state != DEAD:
                raise ClusterError(f"{one.name} is {one.state}: end it first with millrace cluster kill {one.index}")
            self._boot(one)
            if self.spec.slurm:
                slurm.start_node(self.spec, one, self.run)
        elif one.state == DEAD:
            raise ClusterError(f"{one.name} is dead; start it with: millrace cluster boot {one.index}")
        elif what == "kill":
            self._stop(one)
        elif what == "cut":
            network.cut(one.index)
            one.state = CUT
        elif what == "heal":
            network.heal(one.index)
            one.state = UP
        else:
            raise ClusterError(f"'{what}' is not known")
        self.state.write()

    def _stop(self, one: Node) -> None:
        """Stops a node as a power failure does: other nodes do not even see its connections end."""
        network.cut(one.index)
        os.kill(one.pid, signal.SIGKILL)
        os.waitpid(one.pid, 0)
        self._gone(one)

    def _gone(self, one: Node) -> None:
        one.pid = one.started = 0
        one.state = DEAD
        os.close(self._pidfds.pop(one.name))
        network.unplug(one.index)

    def tear_down(self) -> None:
        """Ends all nodes and removes the cluster's files. The kernel frees its part when this process ends."""
        for one in self.state.nodes:
            if one.state != DEAD:
                os.kill(one.pid, signal.SIGKILL)
                os.waitpid(one.pid, 0)
                self._gone(one)
        for listener in self._listeners.values():
            listener.close()
        remove_files(self.spec.name)


def remove_files(name: str) -> None:
    """Removes the storage first: while the folder in /run exists, more files may exist."""
    for folder in (state.STORAGE / name, state.RUN / name):
        if folder.exists():
            shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        state.STORAGE.rmdir()  # after the last cluster


def main(folder: str, told: int) -> int:
    """Builds the cluster of <folder>/spec.json, and writes the result to `told` as one line of JSON."""
    os.set_inheritable(told, False)  # otherwise daemons in the nodes would keep it open
    spec = Spec(**json.loads((Path(folder) / "spec.json").read_text()))
    keeper = Keeper(spec)
    answer: dict[str, Any] = {"ok": True}
    try:
        keeper.build()
    except BaseException as error:
        if not isinstance(error, ClusterError):
            traceback.print_exc()
        answer = {"error": str(error) or type(error).__name__, "status": getattr(error, "status", 1)}
        keeper.tear_down()
    try:
        os.write(told, f"{json.dumps(answer)}\n".encode())
    except OSError:  # no process waits for the cluster any more
        keeper.tear_down()
        return 1
    os.close(told)
    if "error" in answer:
        return 1
    keeper.serve()
    if spec.folder.exists():
        keeper.tear_down()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
