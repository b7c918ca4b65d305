# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""This machine beside published ones: the same figures, each with the percentage that was published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millrace.tools.evaluate.case import OWN_FILES
from millrace.tools.evaluate.references import Entry, Machine
from millrace.tools.evaluate.report.story import cases_of, largest_mdtest, number
from millrace.tools.evaluate.session import Session

GB_S_PER_MIB_S = (1 << 20) / 1e9
Own = Callable[[Session], str]


@dataclass(frozen=True)
class Row:
    """One figure over the machines of a table; empty where a machine has none."""

    title: str
    own: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Figures of one kind, and the machines that have any of them."""

    title: str
    machines: tuple[Machine, ...]
    rows: tuple[Row, ...]


def _figure(key: str) -> Own:
    def own(session: Session) -> str:
        figure = session.figures().get(key)
        if figure is None:
            return ""
        percent = figure["percent_of_limit"]
        return number(figure["value"]) + (f" ({percent:.1f} %)" if percent is not None else "")

    return own


def _balance(session: Session) -> str:
    figures = session.figures()
    triad, peak = figures.get("limit.memory:triad"), figures.get("limit.flops:peak")
    return f"{triad['value'] / peak['value']:.3f}" if triad and peak and peak["value"] else ""


def _file_per_rank(session: Session) -> str:
    figures = [f for key, f in session.figures().items() if key.startswith("ior.fpp.") and key.endswith(":write")]
    return number(max(f["value"] for f in figures) * GB_S_PER_MIB_S) if figures else ""


def _own_files(language: str, action: str, method: str) -> Own:
    """The rate of the largest files of a method, in GB/s."""

    def own(session: Session) -> str:
        for result in cases_of(session, "file-per-process"):
            case = result["case"]
            if (case["pattern"], case["method"]) == (language, method):
                found = [f for f in result["figures"] if f["name"].startswith(f"{action}_")]
                if found:
                    return number(found[-1]["value"] * GB_S_PER_MIB_S)
        return ""

    return own


def _shared_file(section: str, pattern: str, figure: str, millrace: bool, words: str = "") -> Own:
    """The best rate of the MPI library, or of Millrace. `words`: arguments of the program."""

    def own(session: Session) -> str:
        found = [
            next(f["value"] for f in r["figures"] if f["name"] == figure)
            for r in cases_of(session, section)
            if r["case"]["pattern"] == pattern
            and ("Millrace" in r["case"]["method"]) == millrace
            and "POSIX" not in r["case"]["method"]
            and r["case"]["method"] != OWN_FILES
            and words in " ".join(r["case"]["arguments"])
        ]
        return number(max(found)) if found else ""

    return own


def _metadata(operation: str) -> Own:
    def own(session: Session) -> str:
        found = largest_mdtest(session)
        figures = found["figures"] if found else []
        return next((number(f["value"]) for f in figures if f["name"] == operation), "")

    return own


def _copies(session: Session) -> str:
    figure = session.figures().get("transfer:write_pinned")
    return number(figure["value"] * GB_S_PER_MIB_S) if figure else ""


def _between_processes(session: Session) -> str:
    found = [f["value"] for r in cases_of(session, "ipc") for f in r["figures"]]
    return number(max(found) * GB_S_PER_MIB_S) if found else ""


def _nothing(session: Session) -> str:
    """For figures that are not measured here."""
    return ""


# Title, this machine's figure, the published one, and the factor from this machine's unit to the title's.
_MACHINE: tuple[tuple[str, Own, str, float], ...] = (
    ("STREAM copy, GB/s", _figure("hpcc:stream_copy"), "stream_copy", 1e-3),
    ("STREAM scale, GB/s", _figure("hpcc:stream_scale"), "stream_scale", 1e-3),
    ("STREAM add, GB/s", _figure("hpcc:stream_add"), "stream_add", 1e-3),
    ("STREAM triad, GB/s", _figure("hpcc:stream_triad"), "stream_triad", 1e-3),
    ("Peak, GFLOPS", _figure("limit.flops:peak"), "peak", 1.0),
    ("HPL, one node, GFLOPS", _figure("hpcc:hpl"), "hpl_node", 1e3),
    ("MPIFFT, GFLOPS (published: 8 nodes)", _figure("hpcc:fft"), "fft_8_nodes", 1.0),
    ("GeoFEM-Cube, GFLOPS", _figure("geofem:gflops"), "geofem", 1.0),
    ("Bytes of triad per FLOP", _balance, "byte_per_flop", 1.0),
)
_FILES: tuple[tuple[str, Own, str, float], ...] = (
    ("Storage, one stream, MiB/s", _figure("limit.storage:write"), "disk_write", 1.0),
    ("One file per rank, POSIX, one node, GB/s", _file_per_rank, "ior_own_file_node_local", 1e-3),
    ("4 KiB pieces, the MPI library, MiB/s", _shared_file("shared-file", "4 KiB", "write", False), "ior_4k_pvfs2", 1.0),
    ("4 KiB pieces, Catwalk or Millrace, MiB/s", _shared_file("shared-file", "4 KiB", "write", True),
     "ior_4k_catwalk", 1.0),
    ("BT-IO simple A, the MPI library, Mop/s",
     _shared_file("checkpoint", "BT-IO simple", "operations", False, "-C A "), "btio_simple_a_pvfs2", 1.0),
    ("BT-IO simple A, Catwalk or Millrace, Mop/s",
     _shared_file("checkpoint", "BT-IO simple", "operations", True, "-C A "), "btio_simple_a_catwalk", 1.0),
    ("BT-IO full A, the MPI library, Mop/s",
     _shared_file("checkpoint", "BT-IO full", "operations", False, "-C A "), "btio_full_a_pvfs2", 1.0),
    ("BT-IO full A, Catwalk or Millrace, Mop/s",
     _shared_file("checkpoint", "BT-IO full", "operations", True, "-C A "), "btio_full_a_catwalk", 1.0),
    ("MDTEST, directories created, /s", _metadata("dir_create"), "mdtest_directory_create", 1.0),
    ("MDTEST, directories removed, /s", _metadata("dir_remove"), "mdtest_directory_remove", 1.0),
    ("MDTEST, files created, /s", _metadata("file_create"), "mdtest_file_create", 1.0),
    ("MDTEST, files removed, /s", _metadata("file_remove"), "mdtest_file_remove", 1.0),
)  # fmt: skip
_OWN_FILES: tuple[tuple[str, Own, str, float], ...] = tuple(
    (
        f"{'C' if language == 'c' else 'Fortran'}, {action}, {method}, GB/s",
        _own_files(language, action, method),
        f"fpp_{language}_{action}_{method}",
        1.0,
    )
    for language in ("c", "fortran")
    for action in ("read", "write")
    for method in ("normal", "accelerated", "offload")
) + (
    ("Accelerated, 16 ranks on engines of two switches, GB/s", _nothing, "two_engines_of_two_switches", 1.0),
    ("Accelerated, 16 ranks on engines of one switch, GB/s", _nothing, "two_engines_of_one_switch", 1.0),
    ("Host to device, pinned; published: sustained, GB/s", _copies, "link_sustained", 1.0),
    ("Between processes, best way, GB/s", _between_processes, "ipc", 1.0),
)
_TABLES = (
    ("The machine", _MACHINE),
    ("Files and metadata", _FILES),
    ("A file per rank (published: memory of vector engines)", _OWN_FILES),
)


def _published(entry: Entry | None, factor: float) -> str:
    if entry is None:
        return ""
    percent = f" ({entry.percent} %)" if entry.percent else ""
    small = factor == 1.0 and entry.value < 1
    return (str(entry.value) if small else number(entry.value * factor)) + percent


def tables(session: Session, machines: Sequence[Machine]) -> list[Table]:
    """Rows in which at least one machine has a figure. Percentages: here of the measured limit, there of the peak."""
    found = []
    for title, rows in _TABLES:
        there = tuple(m for m in machines if any(m.figure(name) for _, _, name, _ in rows))
        made = tuple(
            Row(text, own(session), tuple(_published(m.figure(name), factor) for m in there))
            for text, own, name, factor in rows
        )
        made = tuple(row for row in made if row.own or any(row.others))
        if made:
            found.append(Table(title, there, made))
    return found
