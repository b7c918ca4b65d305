# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""One run of one program, as a row of the plan: everything that ReFrame and the report need to know of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# The sections in the order of the report.
SECTIONS = ("memory", "compute", "geofem", "link", "storage", "shared-file", "ranks", "size", "strategy", "mapping")
SECTIONS += ("checkpoint", "file-per-process", "metadata", "io500", "elbencho", "ipc", "device")
OWN_FILES = "a file per rank"  # a method; the other ones write one shared file


@dataclass(frozen=True)
class Case:
    """`arguments` may hold {file} and {folder}: a name that is free, and an empty folder, on the storage under test."""

    name: str
    section: str
    program: str  # a program of bench/, or a standard one (external.py)
    arguments: tuple[str, ...] = ()
    ranks: int = 0  # 0: no MPI program
    mpi: str = ""  # mpich, openmpi
    millrace: str = ""  # "mpi": runs under `millrace run`
    settings: tuple[str, ...] = ()  # of `millrace run`
    threads: int = 1  # of each rank
    mapping: str = ""  # placement of ranks: packed or spread; empty: the launcher's choice
    limit: bool = False  # measured first; other cases are compared with it
    about: str = ""
    method: str = ""  # its name within its pattern
    pattern: str = ""
    disk_bytes: int = 0
    memory_bytes: int = 0
    timeout_s: int = 120
    missing: str = ""  # why it cannot run here
    more: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def load(document: Mapping[str, Any]) -> Case:
        known = {f.name for f in dataclasses.fields(Case)}
        values = {name: value for name, value in document.items() if name in known}
        for name in ("arguments", "settings"):
            values[name] = tuple(values.get(name, ()))
        return Case(**values)

    def unable(self, reason: str) -> Case:
        """The same case, marked as not able to run; the first reason stays."""
        return self if self.missing else dataclasses.replace(self, missing=reason)
