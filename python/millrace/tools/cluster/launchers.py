# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Files and environment that let unchanged MPI launchers start jobs across the nodes of a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from millrace import prefix
from millrace.tools.cluster import slurm
from millrace.tools.cluster.state import Spec, address, host_name, write_file

# sh, because launchers start their agent by a path without arguments; -S, because it needs no packages.
_AGENT = """#!/bin/sh
exec '{python}' -S -c 'import sys; sys.path.insert(0, sys.argv.pop(1))
from millrace.tools.cluster import shell
sys.exit(shell.main(sys.argv[1], sys.argv[2:]))' '{package}' '{folder}' "$@"
"""
_SHIMS = ("libmillrace-bench-finalize.so", "libmillrace-bench-yield.so")
PACKAGES = str(Path(__file__).resolve().parents[3])


def write_files(spec: Spec) -> None:
    """Writes the program that replaces ssh, and the launchers' lists of nodes."""
    agent = _AGENT.format(python=sys.executable, package=PACKAGES, folder=spec.folder)
    write_file(spec.folder / "ssh", agent, 0o700)
    nodes = range(spec.nodes)
    write_file(spec.folder / "hosts.hydra", "".join(f"{host_name(i)}:{spec.slots}\n" for i in nodes))
    write_file(spec.folder / "hosts.openmpi", "".join(f"{host_name(i)} slots={spec.slots}\n" for i in nodes))


def names(spec: Spec) -> dict[str, str]:
    """Maps each name of a node to its host name."""
    found = {host_name(i): host_name(i) for i in range(spec.nodes)}
    found.update({address(i): host_name(i) for i in range(spec.nodes)})
    return found


def _places(spec: Spec) -> dict[str, str]:
    """Variables of this cluster, which replace those of the caller."""
    agent = str(spec.folder / "ssh")
    hydra = str(spec.folder / "hosts.hydra")
    openmpi = str(spec.folder / "hosts.openmpi")
    return {
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": agent,
        "HYDRA_HOST_FILE": hydra,
        "OMPI_MCA_plm_rsh_agent": agent,
        "OMPI_MCA_orte_default_hostfile": openmpi,
    }


# The caller's own values replace these.
_DEFAULTS = {
    # Nodes share the machine's processors: a launcher that binds would put every node's first rank on one core.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl_tcp_if_include": "eth0",
    "OMPI_MCA_oob_tcp_if_include": "eth0",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Otherwise UCX (MPICH) would try transports that need shared memory.
    "UCX_TLS": "tcp,self,sm",
    "UCX_NET_DEVICES": "eth0",
}


def shims(environment: Mapping[str, str]) -> list[str]:
    """Libraries without which Debian's MPICH wastes the nodes' shared processors, or does not end; bench/shim says
    more. Empty where they are not built."""
    for root in prefix.candidates(environment):
        found = [prefix.Prefix(root).shared_object(name) for name in _SHIMS]
        if all(os.path.isfile(path) for path in found):
            return found
    return []


def environment(spec: Spec, base: Mapping[str, str]) -> dict[str, str]:
    """`base` with what launchers in the cluster need."""
    made = {**_DEFAULTS, **base, **_places(spec)}
    if spec.slurm:
        made.update(slurm.environment(spec))
    if spec.preload:
        words = [word for word in base.get("LD_PRELOAD", "").replace(" ", ":").split(":") if word]
        made["LD_PRELOAD"] = ":".join(dict.fromkeys([*words, *spec.preload]))
    return made


def variables(spec: Spec) -> dict[str, str]:
    """For `millrace cluster env`."""
    return environment(spec, {})
