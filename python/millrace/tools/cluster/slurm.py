# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm inside of a cluster: a slurmd on every node; slurmctld and munged, whose socket all nodes see, on node 0.

Everything it reads and writes lies in the cluster's folder and in the nodes' storage; a Slurm of the machine is
neither used nor disturbed.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from millrace import prefix
from millrace.tools.cluster.state import ClusterError, Node, Spec, address, host_name, write_file

_PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "sinfo")
_READY_TIMEOUT_S = 60
Run = Callable[[Node, list[str]], str]  # runs a program in a node: its output, or ClusterError


def folder(spec: Spec) -> Path:
    return spec.folder / "slurm"


def missing() -> list[str]:
    path = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"
    return [name for name in _PROGRAMS if shutil.which(name, path=path) is None]


def environment(spec: Spec) -> dict[str, str]:
    """The variables that srun and sbatch need."""
    return {"SLURM_CONF": str(folder(spec) / "slurm.conf")}


def own_parts() -> dict[str, str]:
    """Millrace's plugin for `srun --millrace` and its epilog, as far as this Millrace has them."""
    try:
        root = prefix.find().root
    except prefix.PrefixError:
        return {}
    paths = {"plugin": f"{root}/lib/slurm/spank_millrace.so", "epilog": f"{root}/libexec/millrace/slurm-epilog"}
    return {name: path for name, path in paths.items() if os.path.isfile(path)}


def configuration(spec: Spec) -> str:
    place = folder(spec)
    epilog = own_parts().get("epilog")
    nodes = [
        f"NodeName={host_name(i)} NodeAddr={address(i)} CPUs={spec.slots} State=UNKNOWN" for i in range(spec.nodes)
    ]
    lines = [
        f"ClusterName={spec.name}",
        f"SlurmctldHost={host_name(0)}({address(0)})",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={place}/munge/socket",
        "CredType=cred/munge",
        f"StateSaveLocation={place}/state",
        # Every node has its own /tmp.
        "SlurmdSpoolDir=/tmp/slurmd",
        f"SlurmctldPidFile={place}/slurmctld.pid",
        f"SlurmdPidFile={place}/slurmd.%n.pid",
        f"SlurmctldLogFile={place}/slurmctld.log",
        f"SlurmdLogFile={place}/slurmd.%n.log",
        "ProctrackType=proctrack/pgid",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU",
        # Nodes offer `slots` processors, independent of the machine.
        "SlurmdParameters=config_overrides",
        # PMI 2 by default, and PMI 1 as MPICH expects. Open MPI needs srun --mpi=pmix.
        "MpiDefault=pmi2",
        "ReturnToService=2",
        "SlurmctldTimeout=30",
        "SlurmdTimeout=30",
        f"PlugStackConfig={place}/plugstack.conf",
        *([f"Epilog={epilog}"] if epilog else []),
        *nodes,
        "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    ]
    return "\n".join(lines) + "\n"


def write_files(spec: Spec) -> None:
    place = folder(spec)
    for name in ("", "state", "munge"):
        (place / name).mkdir(mode=0o700)
    write_file(place / "slurm.conf", configuration(spec), 0o644)
    plugin = own_parts().get("plugin")
    write_file(place / "plugstack.conf", f"optional {plugin}\n" if plugin else "", 0o644)
    # Without cgroups, because they belong to the machine and other programs may use them.
    write_file(place / "cgroup.conf", "CgroupPlugin=cgroup/v1\nConstrainCores=no\nConstrainRAMSpace=no\n", 0o644)
    key = place / "munge" / "key"
    fd = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    with open(fd, "wb") as file:
        file.write(os.urandom(128))


def start(spec: Spec, nodes: list[Node], run: Run) -> None:
    """Starts Slurm on all nodes; returns when all nodes take jobs."""
    write_files(spec)
    for one in nodes:
        start_node(spec, one, run)
    wait(spec, nodes, run)


def start_node(spec: Spec, one: Node, run: Run) -> None:
    """Starts Slurm on a node after its boot."""
    place = folder(spec)
    if one.index == 0:
        munge = place / "munge"
        words = ["munged", "--force", f"--socket={munge}/socket", f"--key-file={munge}/key"]
        words += [f"--{name}-file={munge}/{name}" for name in ("log", "pid", "seed")]
        (munge / "socket.lock").unlink(missing_ok=True)
        run(one, words)
        run(one, ["slurmctld", "-f", str(place / "slurm.conf")])
    run(one, ["slurmd", "-f", str(place / "slurm.conf"), "-N", one.name])


def wait(spec: Spec, nodes: list[Node], run: Run) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    said = ""
    while time.monotonic() < deadline:
        try:
            said = run(nodes[0], ["env", *_words(spec), "sinfo", "-h", "-N", "-o", "%N %t"])
        except ClusterError as error:
            said = str(error)
        if sorted(said.split("\n")[:-1]) == sorted(f"{one.name} idle" for one in nodes):
            return
        time.sleep(0.2)
    raise ClusterError(f"Slurm's nodes did not become ready in {_READY_TIMEOUT_S} s: {' '.join(said.split())}", 1)


def _words(spec: Spec) -> list[str]:
    return [f"{name}={value}" for name, value in environment(spec).items()]
