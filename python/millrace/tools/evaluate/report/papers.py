# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Drawings as in the papers, with the papers' figures beside those of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.tools.evaluate.references import Machine
from millrace.tools.evaluate.report import charts
from millrace.tools.evaluate.report.charts import Bar, bar
from millrace.tools.evaluate.session import Session
from millrace.units import human_bytes

Result = dict[str, Any]
Drawings = list[tuple[str, str]]


def _figure(result: Result, name: str) -> dict[str, Any]:
    return next(f for f in result["figures"] if f["name"] == name)


# GeoFEM-Cube.


def _cores(result: Result) -> int:
    return int(result["case"]["threads"] * result["case"]["ranks"])


def _of_peak(session: Session, results: list[Result], machines: Sequence[Machine]) -> str:
    """Table 3 of the Oakleaf-FX paper: the share of the peak, which depends on bytes per FLOP."""
    base = next((r for r in results if r["case"]["name"] == "geofem"), None)
    figures = session.figures()
    triad, peak = figures.get("limit.memory:triad"), figures.get("limit.flops:peak")
    if base is None or not triad or not peak or not peak["value"]:
        return ""
    own = 100 * _figure(base, "gflops")["value"] / peak["value"]
    rows = [(triad["value"] / peak["value"], Bar("this machine", own, "millrace"))]
    for machine in machines:
        solver, balance = machine.figure("geofem"), machine.figure("byte_per_flop")
        if solver and solver.percent and balance:
            rows.append((balance.value, Bar(machine.name, float(solver.percent), "plain")))
    rows.sort(key=lambda row: -row[0])
    return charts.bars([Bar(f"{b.label} ({balance:.3f})", b.value, b.kind) for balance, b in rows], "%")


def _weak(results: list[Result]) -> str:
    """GFLOPS over processors, with the same number of nodes for each processor."""
    alike = [r for r in results if r["case"]["pattern"] == "weak scaling" or r["case"]["name"] == "geofem"]
    series: dict[str, list[tuple[float, float]]] = {"flat MPI": [], "one rank, threads": []}
    limit = []
    for result in sorted(alike, key=_cores):
        figure = _figure(result, "gflops")
        if result["case"]["threads"] == 1:
            series["flat MPI"].append((_cores(result), figure["value"]))
            if figure["limit_value"]:
                limit.append((float(_cores(result)), float(figure["limit_value"])))
        elif result["case"]["ranks"] == 1:
            series["one rank, threads"].append((_cores(result), figure["value"]))
    series = {name: curve for name, curve in series.items() if curve}
    if len(series.get("flat MPI", [])) < 2:
        return ""
    return charts.lines(series, "GFLOPS", "processors", limit, lambda cores: f"{cores:g}")


def geofem(session: Session, results: list[Result], machines: Sequence[Machine]) -> Drawings:
    most = max(map(_cores, results))
    orderings = [r for r in results if r["case"]["pattern"] != "weak scaling"]
    models = [r for r in results if _cores(r) == most and (r not in orderings or r["case"]["name"] == "geofem")]
    about = results[0]["case"]["about"]
    found = [
        (
            f"Orderings, flat MPI, {most} processors; percentages: of what the triad allows. {about}",
            charts.bars([bar(_figure(r, "gflops"), r["case"]["pattern"], "plain") for r in orderings], "GFLOPS"),
        ),
        (
            "Percent of the peak, and bytes of triad per FLOP, beside published machines (one node, flat MPI)",
            _of_peak(session, results, machines),
        ),
        ("Weak scaling; dashed: what the triad allows", _weak(results)),
    ]
    if len(models) > 1:
        rows = [bar(_figure(r, "gflops"), r["case"]["method"], "plain") for r in models]
        found.append((f"Flat MPI and hybrid (threads x ranks), {most} processors", charts.bars(rows, "GFLOPS")))
    return found


# MDTEST: figures 5 and 6 of the Oakleaf-FX paper have these four operations.
_OPERATIONS = (
    ("dir_create", "directory create", "mdtest_directory_create"),
    ("dir_remove", "directory remove", "mdtest_directory_remove"),
    ("file_create", "file create", "mdtest_file_create"),
    ("file_remove", "file remove", "mdtest_file_remove"),
)


def _four(result: Result, machines: Sequence[Machine]) -> list[Bar]:
    rows = []
    for name, title, published in _OPERATIONS:
        figure = next((f for f in result["figures"] if f["name"] == name), None)
        if figure is None:
            continue
        rows.append(bar(figure, title, "millrace"))
        for machine in machines:
            entry = machine.figure(published)
            if entry and result["case"]["ranks"] > 1:
                rows.append(Bar(f"{machine.name}, {entry.note or 'published'}", entry.value, "stock"))
    return rows


def metadata(session: Session, results: list[Result], machines: Sequence[Machine]) -> Drawings:
    found, rest = [], []
    for result in results:
        about = result["case"]["about"]
        if result["case"]["program"] != "mdtest":
            rows = [bar(f, f["name"].replace("_", " "), "plain") for f in result["figures"]]
            found.append((about, charts.bars(rows, "/s")))
            continue
        found.append((f"{about}; percent: of one process by system calls", charts.bars(_four(result, machines), "/s")))
        known = {name for name, _, _ in _OPERATIONS}
        others = [f for f in result["figures"] if f["name"] not in known]
        rows = [bar(f, f["name"].replace("_", " "), "plain") for f in others]
        rest.append((f"The other operations, {result['case']['pattern']}", charts.bars(rows, "/s")))
    return found + rest


# Catwalk-ROMIO's strategies and sort buffers.


def strategies(session: Session, results: list[Result], machines: Sequence[Machine]) -> Drawings:
    found = []
    for mpi in dict.fromkeys(r["case"]["mpi"] for r in results):
        same = [r for r in results if r["case"]["mpi"] == mpi]
        compared = [r for r in same if r["case"]["more"]["compared"]]
        sorts = [r for r in same if r["case"]["method"] == "sort"]
        if compared:
            more = compared[0]["case"]["more"]
            sizes = f"buffer {human_bytes(more['sort_buffer'])}, file {human_bytes(more['file_bytes'])}"
            rows = [bar(_figure(r, "write"), r["case"]["method"], "millrace") for r in compared]
            limit = _figure(compared[0], "write")["limit_value"]
            drawn = charts.bars(rows, "MiB/s", limit, "one sequential stream")
            found.append((f"Strategies, {mpi}: {sizes}", drawn))
        if len(sorts) > 1:
            curve = sorted((r["case"]["more"]["sort_buffer"], _figure(r, "write")["value"]) for r in sorts)
            found.append(
                (f"Strategy sort over its buffer, {mpi}", charts.lines({"sort": curve}, "MiB/s", "sort buffer"))
            )
    return found


def mappings(session: Session, results: list[Result], machines: Sequence[Machine]) -> Drawings:
    rows = [
        bar(_figure(r, "write"), f"{r['case']['mapping']}: {r['case']['method']}, {r['case']['mpi']}",
            charts.kind_of(r["case"]))
        for r in results
    ]  # fmt: skip
    return [(results[0]["case"]["about"], charts.bars(rows, "MiB/s"))]
