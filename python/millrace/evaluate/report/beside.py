# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""This machine beside published ones: the same figures, each with the percentage that was published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.evaluate.references import Entry, Machine
from millrace.evaluate.report.story import number
from millrace.evaluate.session import Session


@dataclass(frozen=True)
class Row:
    """One figure over all machines; empty where a machine has none."""

    title: str
    own: str
    others: tuple[str, ...]


# Title, this suite's figure, the published one; factors bring both to the first unit.
_ROWS = (
    ("STREAM copy, GB/s", "hpcc:stream_copy", 1.0, "stream_copy", 1e-3),
    ("STREAM scale, GB/s", "hpcc:stream_scale", 1.0, "stream_scale", 1e-3),
    ("STREAM add, GB/s", "hpcc:stream_add", 1.0, "stream_add", 1e-3),
    ("STREAM triad, GB/s", "hpcc:stream_triad", 1.0, "stream_triad", 1e-3),
    ("Peak, GFLOPS", "limit.flops:peak", 1.0, "peak", 1.0),
    ("HPL, one node, GFLOPS", "hpcc:hpl", 1.0, "hpl_node", 1e3),
    ("MPIFFT, GFLOPS (published: 8 nodes)", "hpcc:fft", 1.0, "fft_8_nodes", 1.0),
    ("GeoFEM-Cube, GFLOPS", "geofem:gflops", 1.0, "geofem", 1.0),
    ("One file per rank, one node, MB/s", "", 1.0, "ior_own_file_node_local", 1.0),
    ("Storage, one stream, MiB/s", "limit.storage:write", 1.0, "disk_write", 1.0),
)


def _published(entry: Entry | None, factor: float) -> str:
    if entry is None:
        return ""
    percent = f" ({entry.percent} %)" if entry.percent else ""
    return number(entry.value * factor) + percent


def _own(session: Session, key: str, factor: float) -> str:
    figure = session.figures().get(key)
    if figure is None:
        return ""
    percent = figure["percent_of_limit"]
    return number(figure["value"] * factor) + (f" ({percent:.1f} %)" if percent is not None else "")


def _file_per_rank(session: Session) -> str:
    figures = [f for key, f in session.figures().items() if key.startswith("ior.fpp.") and key.endswith(":write")]
    return number(max(f["value"] for f in figures) * (1 << 20) / 1e6) if figures else ""


def table(session: Session, machines: Sequence[Machine]) -> list[Row]:
    """Rows in which at least one machine has a figure. Percentages: here of the measured limit, there of the peak."""
    rows = []
    for title, key, factor, name, published in _ROWS:
        own = _own(session, key, factor) if key else _file_per_rank(session)
        others = tuple(_published(machine.figure(name), published) for machine in machines)
        if own or any(others):
            rows.append(Row(title, own, others))
    figures = session.figures()
    triad, peak = figures.get("limit.memory:triad"), figures.get("limit.flops:peak")
    own = f"{triad['value'] / peak['value']:.3f}" if triad and peak and peak["value"] else ""
    balance = tuple(str(e.value) if (e := machine.figure("byte_per_flop")) else "" for machine in machines)
    rows.append(Row("Bytes of triad per FLOP", own, balance))
    return rows
