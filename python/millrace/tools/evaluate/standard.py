# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The plan's rows for IO500 and elbencho, with the sizes of a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millrace.tools.evaluate import elbencho, external, io500
from millrace.tools.evaluate.case import Case
from millrace.tools.evaluate.tools import LAUNCHERS, Tools

if TYPE_CHECKING:
    from millrace.tools.evaluate.plan import Profile


def cases(p: Profile, tools: Tools, mpi: str) -> Iterator[Case]:
    """`mpi`: for an io500 that does not tell which MPI it is linked with, such as a site's script."""
    yield from _io500(p, tools, mpi)
    yield from _elbencho(p, tools)


def _io500(p: Profile, tools: Tools, mpi: str) -> Iterator[Case]:
    """As IO500 comes; except in profile quick, also with MPI-IO for the shared file, without and with Millrace."""
    program = tools.program("io500")
    linked = external.mpi_of(str(program)) if program else ""
    mpi = linked if linked in LAUNCHERS else mpi if program else ""
    # A valid run writes for five minutes, as much as it can; a shorter one no more than other cases do.
    valid = p.io500_s >= io500.VALID_S
    size = max(p.file_bytes, tools.disk_bytes // 4) if valid else p.file_bytes
    more: dict[str, Any] = {"bytes": size, "items": p.items, "seconds": p.io500_s}
    rows = [("io500", "POSIX", "", "as it comes")]
    if p.name != "quick" and program:
        rows += [("io500.mpiio", "MPIIO", "", "MPI-IO"), ("io500.millrace", "MPIIO", "mpi", "Millrace")]
    for name, api, millrace, method in rows:
        yield Case(
            name, "io500", "io500", (io500.INPUT,), p.ranks, mpi, millrace, method=method,
            disk_bytes=2 * size, timeout_s=600 + 15 * p.io500_s, more={**more, "hard_api": api},
            about=f"IO500, {p.ranks} ranks, stonewall {p.io500_s} s, ior-hard by {api}",
        )  # fmt: skip


def _elbencho(p: Profile, tools: Tools) -> Iterator[Case]:
    common = ("--nolive", "--csvfile", elbencho.CSV, "--threads", str(p.ranks))
    rows = (
        ("large", ("--block", "1m", "--verify", "1"), "blocks of 1 MiB in order"),
        ("small", ("--block", "4k", "--rand"), "blocks of 4 KiB in random order"),
    )
    there = tools.program("elbencho") is not None
    for name, options, about in rows if there else rows[:1]:
        size = p.file_bytes // (1 if name == "large" else 8)
        arguments = (*common, *options, "--size", str(size), "--write", "--read", "--sync", "{file}")
        yield Case(
            f"elbencho.{name}", "elbencho", "elbencho", arguments, pattern=name, threads=tools.processors,
            timeout_s=600, disk_bytes=size,
            about=f"elbencho, one file, {about}, {p.ranks} threads, with sync",
        )  # fmt: skip
    if not there:
        return
    items = ("--dirs", "1", "--files", str(p.items), "--size", "0")
    phases = ("--mkdirs", "--write", "--stat", "--delfiles", "--deldirs")
    yield Case(
        "elbencho.metadata", "elbencho", "elbencho", (*common, *items, *phases, "{folder}"), pattern="metadata",
        threads=tools.processors, timeout_s=600, about=f"elbencho, {p.items} empty files of each of {p.ranks} threads",
    )  # fmt: skip
