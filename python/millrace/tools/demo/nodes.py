# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Four virtual nodes as the place of the demo's programs: GlusterFS if it is installed, else the disk of node 0.

One node's disk is a file system that the stock library can use too: with hints, MPICH's collective calls send all bytes
to one rank of node 0, which writes them. Both sides then use the same links and the same disk.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from millrace.doctor import scheduling
from millrace.prefix import Prefix
from millrace.tools.cluster import client, gluster, launchers, lifecycle, mounts, state
from millrace.tools.cluster.state import ClusterError
from millrace.tools.demo import runner
from millrace.tools.demo.cases import Case, bench_case
from millrace.tools.session import RunFailed, output, undisturbed

NODES, PER_NODE, BANDWIDTH = 4, 4, "1gbit"
_RANKS = NODES * PER_NODE
_CALL_BOUND_S = 30
PAIRS_OF_EQUALS = 5
_HINTS = "romio_no_indep_rw true\ncb_config_list node0:1\nromio_cb_write enable\n"


def name() -> str:
    return f"demo-{os.getpid()}"


def missing() -> str:
    """Why there can be no virtual nodes here; empty if there can."""
    try:
        lifecycle.check(state.Spec(name(), NODES))
    except ClusterError as error:
        return str(error)
    return ""


def cases(prefix: Prefix, quick: bool, shared: bool) -> list[Case]:
    """`shared`: for a file system that all nodes have; otherwise all calls are collective."""
    size = "4m" if quick else "16m"
    ior = "-a MPIIO -w -e -s 1"
    # On one disk a short BT-IO would measure little but the start of agents. On GlusterFS stock needs seconds for it.
    steps = 10 if quick else 50 if shared else 200
    solver = f"--class W --steps {steps} --verify none --sync --meet neighbours --mode"
    large, about_large = f"{ior} -t 1m -b 1m --at-least 64m", "large pieces"
    if shared:
        rows = [
            ("4 nodes: 1 KiB pieces", "ranks interleaved", "ior-mpich", f"{ior} -t 1k -b 1k --at-least {size}"),
            ("4 nodes: BT-IO simple", "class W: a call per row", "btio-mpich", f"{solver} simple"),
            (
                "4 nodes: write, read back",
                "4 KiB pieces, read by another node",
                "ior-mpich",
                f"{ior} -r -R -C -Q {PER_NODE} -t 4k -b 16k --at-least {size}",
            ),
            ("4 nodes: 1 MiB pieces", about_large, "ior-mpich", large, PAIRS_OF_EQUALS),
        ]
    else:
        rows = [
            (
                "4 nodes: 4 KiB pieces",
                "ranks interleaved, collective",
                "ior-mpich",
                f"{ior} -c -t 4k -b 16k --at-least {size}",
            ),
            ("4 nodes: BT-IO full", "class W: collective, derived types", "btio-mpich", f"{solver} full"),
            ("4 nodes: 1 MiB pieces", f"{about_large}, collective", "ior-mpich", f"{large} -c", PAIRS_OF_EQUALS),
        ]
    return [bench_case(prefix, _RANKS, *row) for row in rows]


class Nodes:
    """Nodes that are up."""

    def __init__(self, prefix: Prefix, work: Path) -> None:
        self._prefix, self._work = prefix, work
        self._folder = state.RUN / name()
        self.shared = False
        self.note = ""
        self._reports = work / "reports-of-nodes"
        self._reports.mkdir()

    def set_up(self) -> None:
        """Starts GlusterFS if it is installed. Does without if it cannot be started."""
        if not gluster.missing():
            try:
                gluster.set_up(self.call, NODES)
                self.shared = True
            except RunFailed as error:
                self.note = f"GlusterFS is installed and does not start: {error}"
        hints = self._work / "hints"
        hints.write_text(_HINTS, encoding="utf-8")
        self._hints = {} if self.shared else {"ROMIO_HINTS": str(hints)}
        self._target = {} if self.shared else {"MILLRACE_TARGET": "first"}

    @property
    def title(self) -> str:
        over = "GlusterFS" if self.shared else "the disk of node 0"
        return f"{_RANKS} ranks on {NODES} virtual nodes, links of 1 Gb/s, {over}"

    @property
    def stock(self) -> str:
        if self.shared:
            return "the MPI library alone, on GlusterFS (one brick, on node 0)"
        return "the MPI library alone, with hints: one rank on node 0 gets all bytes and writes the file"

    def file(self, side: str) -> Path:
        return (gluster.MOUNT if self.shared else state.LOCAL) / side

    def launch(self, case: Case, file: Path) -> list[str]:
        return ["mpiexec.hydra", "-n", str(case.ranks), "-ppn", str(PER_NODE), *case.arguments(file)]

    def enter(self, command: list[str]) -> list[str]:
        return runner.millrace("cluster", "exec", "--name", name(), "0", "--", *command)

    def before(self) -> None:
        os.sync()

    def environment(self, case: Case, side: str) -> dict[str, str]:
        environment = runner.plain_environment(side, self._prefix)
        environment |= self._target if side == runner.MILLRACE else self._hints
        # UCX, which MPICH uses, gives up a connection that is silent for some seconds. The job then waits for ever.
        return environment | {"UCX_TCP_KEEPIDLE": "inf"}

    def reports(self) -> Path:
        return self._reports

    def same(self) -> bool:
        files = [str(self.file(side)) for side in (runner.STOCK, runner.MILLRACE)]
        script = 'cmp -s "$0" "$1" && echo same || test $? = 1'
        return self.call(0, ["sh", "-c", script, *files]) != ""

    def clear(self) -> None:
        self.call(0, ["rm", "-f", *(str(self.file(side)) for side in (runner.STOCK, runner.MILLRACE))])

    def call(self, node: int, command: list[str]) -> str:
        """The output of a command in a node."""
        with tempfile.TemporaryFile() as output, open(os.devnull, "rb") as nothing:
            streams = (nothing.fileno(), output.fileno(), output.fileno())
            environment = {word: value for word, value in os.environ.items() if word != "LD_PRELOAD"}
            words = ["timeout", str(_CALL_BOUND_S), *command]
            try:
                # Otherwise a signal would go to the command alone, and this process would go on.
                with undisturbed():
                    ended = client.run(self._folder, state.host_name(node), words, "/", environment, streams)
            except ClusterError as error:
                raise RunFailed(str(error)) from None
            output.seek(0)
            text = output.read().decode(errors="replace")
        if ended != 0:
            tail = " / ".join(text.strip().splitlines()[-3:])
            raise RunFailed(f"{command[0]} on node {node}: {tail or os.waitstatus_to_exitcode(ended)}")
        return text


def _visible(prefix: Prefix, work: Path) -> list[str]:
    """What the nodes have to see although it lies in a folder that each node has for itself."""
    return mounts.hidden([Path(prefix.root).resolve(), work.resolve(), Path(launchers.PACKAGES), Path(sys.prefix)])


@contextlib.contextmanager
def up(prefix: Prefix, work: Path, group: Path | None) -> Iterator[Nodes]:
    """The nodes; nothing of them is left at the end."""
    options = ["--name", name(), "--nodes", str(NODES), "--slots", str(PER_NODE), "--bandwidth", BANDWIDTH]
    for path in _visible(prefix, work):
        options += ["--shared", path]
    with gluster.without_traces():
        try:
            environment = {**os.environ, "MILLRACE_PREFIX": prefix.root}
            command = scheduling.wrap(group, runner.millrace("cluster", "up", *options))
            output(command, runner.RUN_BOUND_S, environment)
            made = Nodes(prefix, work)
            made.set_up()
            yield made
        finally:
            with undisturbed():
                lifecycle.down(name())
