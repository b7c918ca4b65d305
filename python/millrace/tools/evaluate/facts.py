# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The environment of a measurement: processor, memory, kernel, MPI, compiler, mounts. `python -m` prints it as JSON."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from millrace.doctor import machine
from millrace.run import launcher
from millrace.tools.evaluate import hpcc, modules
from millrace.tools.evaluate.tools import LAUNCHERS, launcher_of


def _output(*command: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=20, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def processor() -> dict[str, Any]:
    """Facts from lscpu, which supports every architecture; unknown values are left out."""
    try:
        rows = json.loads(_output("lscpu", "--json")).get("lscpu", [])
    except ValueError:
        rows = []
    flat: dict[str, str] = {}

    def collect(entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            flat.setdefault(str(entry["field"]).rstrip(":"), str(entry.get("data") or ""))
            collect(entry.get("children", []))

    collect(rows)
    found: dict[str, Any] = {
        "model": flat.get("Model name") or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "processors": os.cpu_count(),
        "usable_processors": len(os.sched_getaffinity(0)),
        "sockets": flat.get("Socket(s)"),
        "cores_per_socket": flat.get("Core(s) per socket"),
        "threads_per_core": flat.get("Thread(s) per core"),
        "numa_nodes": flat.get("NUMA node(s)"),
        "hypervisor": flat.get("Hypervisor vendor"),
    }
    for level in ("L1d", "L2", "L3"):
        found[f"cache_{level.lower()}"] = flat.get(f"{level} cache") or flat.get(level)
    flags = flat.get("Flags", "").split()
    found["vector"] = [flag for flag in ("avx", "avx2", "fma", "avx512f", "amx_tile", "sve") if flag in flags]
    return {name: value for name, value in found.items() if value}


def software() -> dict[str, Any]:
    versions: dict[str, Any] = {"kernel": platform.release(), "python": platform.python_version()}
    os_release = dict(
        line.partition("=")[::2] for line in machine.read_text("/etc/os-release").splitlines() if "=" in line
    )
    versions["system"] = os_release.get("PRETTY_NAME", "").strip('"') or platform.system()
    for name, command in (("compiler", ("c++", "--version")), ("fortran", ("f95", "--version"))):
        if shutil.which(command[0]):
            versions[name] = _output(*command).splitlines()[:1]
            versions[name] = versions[name][0] if versions[name] else ""
    for mpi in LAUNCHERS:
        found = launcher_of(mpi)
        if found:
            versions[mpi] = launcher.inspect(shutil.which(found) or found, os.environ).version or found
    versions["blas"] = hpcc.blas()
    return versions


def governor() -> str:
    return machine.read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not told")


def look(target: Path | None = None) -> dict[str, Any]:
    """All facts of this node."""
    found: dict[str, Any] = {
        "hostname": platform.node(),
        "processor": processor(),
        "memory": machine.memory(),
        "memory_bandwidth": modules.bandwidth(),
        "frequency_governor": governor(),
        "software": software(),
    }
    if target is not None:
        found["storage"] = machine.file_system(target)
    return found


if __name__ == "__main__":
    print(json.dumps(look(Path(sys.argv[1]) if len(sys.argv) > 1 else None), indent=1))
