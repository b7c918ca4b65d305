# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Standard programs that the suite runs where they are installed, each with a module of the same few functions:

program() -> path or None; ABSENT: what to do without it; prepare(folder, more): writes the input into the working
folder; read(folder, stdout) -> the document, or BadOutput. `more` is the case's, with the names {folder} filled in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, cast

from millrace.run import elf
from millrace.tools.evaluate import elbencho, hpcc, io500


class Program(Protocol):
    """The functions of such a module."""

    ABSENT: str

    def program(self) -> str | None: ...
    def prepare(self, folder: Path, more: dict[str, Any]) -> None: ...
    def read(self, folder: Path, stdout: str) -> dict[str, Any]: ...


PROGRAMS: dict[str, Program] = {
    name: cast(Program, module) for name, module in (("hpcc", hpcc), ("io500", io500), ("elbencho", elbencho))
}


def mpi_of(path: str) -> str:
    """The MPI that a program is linked with: mpich, openmpi, or an empty word."""
    try:
        family, _ = elf.mpi_family(elf.read(path))
    except (OSError, ValueError):
        return ""
    return family or ""
