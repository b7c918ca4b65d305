# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace cluster ...`: options only; the other modules carry them out."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import List

import typer

from millrace.run import command as running
from millrace.run import supervise
from millrace.tools.cluster import client, launchers, lifecycle, rates, slow_disk, state
from millrace.tools.cluster.state import ClusterError

app = typer.Typer(
    help="A cluster of virtual nodes on this machine, for tests and measurements (as root).", no_args_is_help=True
)
_NAME = typer.Option(state.DEFAULT_NAME, "--name", metavar="NAME", help="Name of the cluster, if there are several.")
_NODE = typer.Argument(..., metavar="NODE", help="The node's number or host name.")


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Prints errors as one line, and ends with their exit status."""
    try:
        yield
    except ClusterError as error:
        running.tell(str(error))
        raise typer.Exit(error.status) from None


@app.command()
def up(
    nodes: int = typer.Option(..., "--nodes", metavar="N", help=f"How many nodes, 1 to {state.NODES_MAX}."),
    name: str = _NAME,
    bandwidth: str | None = typer.Option(
        None,
        "--bandwidth",
        metavar="RATE",
        help="Rate of each node's link, in both directions: 1gbit, 100mbit (default: no limit).",
    ),
    latency: str | None = typer.Option(
        None, "--latency", metavar="TIME", help="Latency added to each packet: 100us. Needs a kernel with netem."
    ),
    slots: int = typer.Option(4, "--slots", metavar="N", help="Ranks per node, for the launchers' host files."),
    shared: List[Path] = typer.Option(
        [], "--shared", metavar="DIR", help="A folder below /tmp or /dev/shm that all nodes see; may be repeated."
    ),
    disk_rate: str | None = typer.Option(
        None,
        "--disk-rate",
        metavar="RATE",
        help="Make /local a slow disk of this rate: 40MiB/s (default: the machine's disk).",
    ),
    read_rate: str | None = typer.Option(
        None,
        "--read-rate",
        metavar="RATE",
        help="Rate of reads of a slow disk; none: reads take no time (default: --disk-rate).",
    ),
    seek_time: str = typer.Option("5ms", "--seek-time", metavar="TIME", help="Time of a seek on a slow disk."),
    slow: List[Path] = typer.Option(
        [], "--slow", metavar="DIR", help="Another folder on a slow disk; may be repeated."
    ),
    with_slurm: bool = typer.Option(False, "--slurm", help="Start Slurm in the cluster, for srun, sbatch and others."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """Start a cluster: nodes with a network, a host name, processes, /tmp and /local of their own."""
    with _told():
        spec = state.Spec(
            name=name,
            nodes=nodes,
            bandwidth_bits=rates.bandwidth_bits(bandwidth) if bandwidth else 0,
            latency_us=rates.microseconds("--latency", latency) if latency else 0,
            slots=slots,
            shared=[str(path.resolve()) for path in shared],
            preload=launchers.shims(os.environ),
            disk_rate_bytes=rates.disk_rate_bytes(disk_rate) if disk_rate else 0,
            read_rate_bytes=rates.read_rate_bytes(read_rate, disk_rate),
            seek_time_us=rates.microseconds("--seek-time", seek_time),
            slow=[str(path.resolve()) for path in slow],
            slow_program=slow_disk.find_program(os.environ),
            slurm=with_slurm,
        )
        made = lifecycle.up(spec)
        if not spec.preload:
            running.tell("bench/shim is not built: jobs of MPICH before 4.2 may hang in MPI_Finalize; run make build")
        _show(made, as_json)


@app.command()
def status(
    name: str = _NAME,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON document."),
) -> None:
    """List the nodes and their states: up, cut or dead."""
    with _told():
        _show(state.running(name), as_json)


def _show(cluster: state.State, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(cluster.document(), indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("node", "address", "state", "first process", "/local", title=None)
    for node in cluster.nodes:
        local = str(cluster.spec.own(node.index) / "local")
        table.add_row(node.name, node.address, node.state, str(node.pid or "-"), local)
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    console.print(table)
    console.print(f"cluster '{cluster.spec.name}', links {rates.format_bandwidth(cluster.spec.bandwidth_bits)}")


@app.command()
def env(name: str = _NAME) -> None:
    """Print what MPI launchers need, for a shell; `exec` sets it by itself."""
    with _told():
        for variable, value in launchers.variables(state.running(name).spec).items():
            typer.echo(f"export {variable}={shlex.quote(value)}")


@app.command("exec", context_settings={"allow_interspersed_args": False})
def execute(
    node: str = _NODE,
    command: List[str] = typer.Argument(..., metavar="-- COMMAND...", help="The command to run there."),
    name: str = _NAME,
) -> None:
    """Run a command in a node: millrace cluster exec 0 -- mpiexec -n 16 -ppn 4 ./app"""
    with _told():
        words = command[1:] if command[0] == "--" else command
        if not words:
            raise ClusterError("no command given; use: millrace cluster exec NODE -- COMMAND...")
        cluster = state.running(name)
        host = state.find_node(cluster, node)
        environment = launchers.environment(cluster.spec, os.environ)
        ended = client.run(cluster.spec.folder, host.name, words, os.getcwd(), environment)
    raise typer.Exit(supervise.end_as(ended))


def _change(what: str, node: str, name: str) -> None:
    with _told():
        cluster = state.running(name)
        client.control(cluster.spec.folder, {"do": what, "node": state.find_node(cluster, node).index})


@app.command()
def cut(node: str = _NODE, name: str = _NAME) -> None:
    """Cut a node's link: the switch drops its packets, while the node's own link looks up."""
    _change("cut", node, name)


@app.command()
def heal(node: str = _NODE, name: str = _NAME) -> None:
    """Join the link of a node again."""
    _change("heal", node, name)


@app.command()
def kill(node: str = _NODE, name: str = _NAME) -> None:
    """End a node as a power failure does: all its processes die at once, and its connections just stop."""
    _change("kill", node, name)


@app.command()
def boot(node: str = _NODE, name: str = _NAME) -> None:
    """Start a killed node again: /local is as it was, /tmp is empty."""
    _change("boot", node, name)


@app.command()
def down(
    name: str = _NAME,
    everything: bool = typer.Option(False, "--all", help="End all clusters, and remove all that crashed ones left."),
) -> None:
    """End a cluster and remove all of it. Succeeds also if there is none."""
    with _told():
        if everything:
            lifecycle.down_all()
        else:
            lifecycle.down(state.check_name(name))
