# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the measuring programs, bounded in time, and reads what they print."""

from __future__ import annotations

import json
import os
import pathlib

from millrace.doctor import scheduling
from millrace.tools.session import RunFailed, bounded, tail


def run_json(
    command: list[str], environment: dict[str, str], timeout_s: float, expected: tuple[int, ...] = (0,)
) -> dict:
    """Runs a program in a session of its own and returns the JSON document that it printed. With an exit status
    other than 0 among the `expected` ones, it need not be verified."""
    status, out, err = bounded(command, timeout_s, environment)
    if status not in expected:
        raise RunFailed(f"exit status {status}: {tail(err)}")
    try:
        document = json.loads(out)
    except json.JSONDecodeError:
        raise RunFailed(f"no JSON in the output: {tail(err)}") from None
    if document.get("schema") != "millrace-bench" or document.get("version") != 1:
        raise RunFailed("the output has another schema or version than this driver knows")
    if document.get("verified") is False and status == 0:
        raise RunFailed(f"the data is not verified: {tail(err)}")
    return document


class Launcher:
    """Knows where the programs are and how each MPI starts them."""

    def __init__(
        self, build: pathlib.Path, millrace: pathlib.Path, timeout_s: float, group: pathlib.Path | None = None
    ):
        self.group = group
        self.programs = build / "bin" / "bench"
        self.shim = build / "lib" / "libmillrace-bench-yield.so"
        self.millrace = millrace
        self.timeout_s = timeout_s

    def has(self, program: str, mpi: str) -> bool:
        return (self.programs / f"{program}-{mpi}").exists()

    def command(self, program: str, mpi: str, ranks: int, arguments: list[str], accelerated: bool) -> list[str]:
        preload = [str(self.shim)] if mpi == "mpich" else []
        if accelerated:
            preload.append(str(self.millrace))
        binary = [str(self.programs / f"{program}-{mpi}"), *arguments]
        if mpi == "mpich":
            return ["mpiexec.hydra", "-n", str(ranks), "-genv", "LD_PRELOAD", ":".join(preload), *binary]
        launch = ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        if os.geteuid() == 0:
            launch.append("--allow-run-as-root")
        if preload:
            launch += ["-x", "LD_PRELOAD=" + ":".join(preload)]
        return [*launch, "-n", str(ranks), *binary]

    def run(self, program: str, mpi: str, ranks: int, arguments: list[str], accelerated: bool) -> dict:
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        # PnetCDF from 1.15 on has a driver of its own beside MPI-IO; `millrace run` says the same.
        environment.setdefault("PNETCDF_HINTS", "nc_driver=mpiio")
        command = self.command(program, mpi, ranks, arguments, accelerated)
        return run_json(scheduling.wrap(self.group, command), environment, self.timeout_s)

    def limit(self, path: str, size: int, sync: bool, repetitions: int) -> dict[str, float]:
        """Rate of every way to write one stream of this size, MiB/s, the median of the repetitions."""
        command = [
            str(self.programs / "limit"),
            "--file",
            path,
            "--size",
            str(size),
            "--repetitions",
            str(repetitions),
            "--sync",
            "fsync" if sync else "none",
        ]
        document = run_json(scheduling.wrap(self.group, command), dict(os.environ), self.timeout_s)
        return {name: m["median_mib_s"] for name, m in document["methods"].items() if "median_mib_s" in m}
