# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A virtual cluster of this driver's own, and programs in it, all bounded in time."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess

from bars import launch
from millrace.doctor import scheduling
from millrace.tools.cluster import mounts
from millrace.tools.session import RunFailed, end, output

_UP_TIMEOUT_S = 120
_ROOT = pathlib.Path(__file__).resolve().parents[2]
_STREAM_TIMEOUT_S = 120  # it writes the file in several ways


@dataclasses.dataclass(frozen=True)
class Shape:
    """What `millrace cluster up` is told."""

    nodes: int
    per_node: int = 4
    bandwidth: str = ""  # "" = unshaped
    disk_rate: str = ""
    seek_time: str = "5ms"
    read_rate: str = ""  # of the slow disk; "" = as it writes, "none" = reads take no time
    slow: str = ""  # a folder that is as slow as the disk

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    def options(self, visible: list[pathlib.Path]) -> list[str]:
        words = ["--nodes", str(self.nodes), "--slots", str(self.per_node)]
        words += ["--bandwidth", self.bandwidth] if self.bandwidth else []
        if self.disk_rate:
            words += ["--disk-rate", self.disk_rate, "--seek-time", self.seek_time]
            words += ["--read-rate", self.read_rate] if self.read_rate else []
            words += ["--slow", self.slow] if self.slow else []
        for path in mounts.hidden(visible):
            words += ["--shared", path]
        return words


class Nodes:
    """Up from `with` on; whatever happens, nothing is left after it. `prepare` is done again after each start."""

    def __init__(
        self,
        shape: Shape,
        build: pathlib.Path,
        visible: list[pathlib.Path],
        timeout_s: float,
        group: pathlib.Path | None = None,
        prepare=None,
    ) -> None:
        self.shape, self.build, self.timeout_s = shape, build, timeout_s
        self._visible, self._group, self._prepare = visible, group, prepare
        self.name = f"bench-{os.getpid()}"

    def __enter__(self) -> Nodes:
        try:
            self._up()
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._down()

    def restart(self) -> None:
        """After a run without an end: what it left in the nodes must not disturb the next one."""
        self._down()
        try:
            self._up()
        except RunFailed:  # once more: the machine may still be busy with what was ended
            self._down()
            self._up()

    def _up(self) -> None:
        words = [*self._cluster("up"), *self.shape.options([_ROOT, self.build.absolute(), *self._visible])]
        output(scheduling.wrap(self._group, words), _UP_TIMEOUT_S)
        if self._prepare:
            self._prepare(self)

    def _down(self) -> None:
        output(self._cluster("down"), _UP_TIMEOUT_S)

    def _cluster(self, what: str) -> list[str]:
        # From "/": the caller's folder may be one that nodes do not see.
        return ["env", "-C", "/", str(self.build / "bin/millrace"), "cluster", what, "--name", self.name]

    def words(self, node: int, command: list[str]) -> list[str]:
        return [*self._cluster("exec"), str(node), "--", *command]

    def call(self, node: int, command: list[str], timeout_s: float | None = None) -> str:
        """Output of a command in a node; RunFailed if it does not end well."""
        return output(self.words(node, command), timeout_s or self.timeout_s)

    def everywhere(self, command: list[str]) -> None:
        for node in range(self.shape.nodes):
            self.call(node, command)

    def run_json(
        self, node: int, command: list[str], settings: dict[str, str] | None = None, timeout_s: float | None = None
    ) -> dict:
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("MILLRACE_")}
        return launch.run_json(self.words(node, command), environment | (settings or {}), timeout_s or self.timeout_s)

    def mpi(
        self,
        program: str,
        mpi: str,
        arguments: list[str],
        settings: dict[str, str] | None,
        ranks: int = 0,
        hosts: range = range(0),
    ) -> dict:
        """A measuring program on all nodes, or on some: with the stock library, or with Millrace if there are settings.

        With `hosts`, each of these nodes gets as many ranks as the shape says."""
        ranks = ranks or len(hosts) * self.shape.per_node
        ranks = ranks or self.shape.ranks
        per_node = max(1, ranks // (len(hosts) or self.shape.nodes))
        place = {
            "mpich": ["mpiexec.hydra", "-n", str(ranks), "-ppn", str(per_node)],
            "ompi": ["mpirun.openmpi", "-n", str(ranks), "--map-by", f"ppr:{per_node}:node"],
        }[mpi]
        if hosts:
            names = ",".join(f"node{one}" + (f":{per_node}" if mpi == "ompi" else "") for one in hosts)
            place += ["-hosts" if mpi == "mpich" else "--host", names]
        command = [*place, str(self.build / "bin/bench" / f"{program}-{mpi}"), *arguments]
        if settings is not None:
            command = [str(self.build / "bin/millrace"), "run", "--", *command]
        return self.run_json(hosts[0] if hosts else 0, command, settings)

    def stream(self, node: int, path: pathlib.Path, size: int, sync: bool = True) -> float:
        """MiB/s of the best way to write one sequential stream there, by a process on that node."""
        command = [str(self.build / "bin/bench/limit"), "--file", str(path), "--size", str(size), "--repetitions", "1"]
        command += ["--sync", "fsync" if sync else "none"]
        return self.run_json(node, command, timeout_s=max(self.timeout_s, _STREAM_TIMEOUT_S))["limit_mib_s"]

    def link(self, sender: int, receiver: int) -> float:
        """MiB/s that a TCP connection carries, after its first second."""
        address = f"10.99.0.{receiver + 1}"
        with self._start(receiver, ["iperf3", "-s", "-1"]) as server:
            try:
                for _ in range(20):  # until it listens
                    rate = self._received(sender, ["iperf3", "-c", address, "-J", "-t", "1", "-O", "1"])
                    if rate:
                        return rate / 8 / (1 << 20)
            finally:
                end(server)
        raise RunFailed("iperf3 gives no figure for the link")

    def _start(self, node: int, command: list[str]) -> subprocess.Popen:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(self.words(node, command), start_new_session=True, **quiet)

    def _received(self, node: int, command: list[str]) -> float:
        """Bits per second; 0 if there is no connection."""
        try:
            return json.loads(self.call(node, command, 30))["end"]["sum_received"]["bits_per_second"]
        except (RunFailed, json.JSONDecodeError, KeyError):
            return 0
