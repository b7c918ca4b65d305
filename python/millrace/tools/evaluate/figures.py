# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Turns a program's output into named figures, each with its limit."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from millrace.tools.evaluate.case import Case

MIB_PER_GB = 1e9 / (1 << 20)
STORAGE, TRIAD, PEAK = "limit.storage:write", "limit.memory:triad", "limit.flops:peak"


class NotMeasured(Exception):
    """The program ended well and has no figures, with a reason, such as a missing device."""


@dataclass(frozen=True)
class Figure:
    """One number. `limit` names a limit's figure (CASE:FIGURE), `limit_value` is one that the program measured; with
    both the larger counts, since a limit is what was reached at least once."""

    name: str
    value: float
    unit: str
    samples: tuple[float, ...] = ()
    limit: str = ""
    limit_value: float | None = None
    lower_is_better: bool = False

    def document(self, limits: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        known = [self.limit_value or 0, limits[self.limit]["value"] if self.limit in limits else 0]
        bound = max(known) or None
        found["limit_value"] = bound
        found["percent_of_limit"] = 100 * self.value / bound if bound else None
        return found


def _memory(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    found = []
    for loop, best in document["best_gb_s"].items():
        form = max((run for run in document["runs"] if run["loop"] == loop), key=lambda run: run["gb_s"]["max"])
        found.append(Figure(loop, best, "GB/s", tuple(form["samples_gb_s"])))
    return found


def _flops(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    best = next(loop for loop in document["loops"] if loop["isa"] == document["best"])
    found = [
        Figure("peak", document["peak_gflops"], "GFLOPS", tuple(best["all_threads_gflops"]["samples"])),
        Figure(
            "peak_one_thread",
            document["peak_gflops_one_thread"],
            "GFLOPS",
            tuple(best["one_thread_gflops"]["samples"]),
        ),
    ]
    for loop in document["loops"]:
        samples = tuple(loop["all_threads_gflops"]["samples"])
        found.append(Figure(loop["isa"], loop["all_threads_gflops"]["max"], "GFLOPS", samples))
    return found


def _limit(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    methods = document["methods"]
    best = methods[document["best"]]
    found = [Figure("write", document["limit_mib_s"], "MiB/s", tuple(best["mib_s"]))]
    for name, method in methods.items():
        if "median_mib_s" in method:
            found.append(Figure(name, method["median_mib_s"], "MiB/s", tuple(method["mib_s"])))
    return found


def _link(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    first, last = document["sizes"][0], document["sizes"][-1]
    latency = first["one_pair"]["one_way_us"]["median"]
    found = [
        Figure("latency", latency, "us", lower_is_better=True),
        Figure("bandwidth", last["one_pair"]["mib_s"]["median"], "MiB/s"),
    ]
    if "all_pairs" in last:
        found.append(Figure("bandwidth_all_pairs", last["all_pairs"]["mib_s"]["median"], "MiB/s"))
    return found


def _ior(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    found = []
    for action in ("write", "read"):
        if action in document:
            samples = tuple(r["mib_s"] for r in document[action]["repetitions"])
            limit = STORAGE if action == "write" else ""
            found.append(Figure(action, document[action]["median_mib_s"], "MiB/s", samples, limit))
    return found


def _btio(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    samples = tuple(r["mib_s"] for r in document["repetitions"])
    operations = tuple(r["mop_s"] for r in document["repetitions"])
    return [
        Figure("write", document["write"]["median_mib_s"], "MiB/s", samples, STORAGE),
        Figure("operations", statistics.median(operations), "Mop/s", operations),
    ]


def _fpp(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    if "problem" in document:
        raise NotMeasured(str(document["problem"]))
    found = []
    for size in document["sizes"]:
        mib = size["bytes_per_rank"] >> 20
        for action in ("write", "read"):
            limit = size["limit"][f"{action}_mib_s"]
            median = size[f"{action}_mib_s"]["median"]
            found.append(Figure(f"{action}_{mib}m", median, "MiB/s", limit_value=limit))
    return found


def _ipc(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    found = []
    for name, method in document["methods"].items():
        if "sizes" not in method:
            continue
        largest = method["sizes"][-1]
        best = max(largest["write_mib_s"]["median"], largest["read_mib_s"]["median"])
        found.append(Figure(name, best, "MiB/s", limit_value=largest["limit_mib_s"]["median"]))
    return found


def _transfer(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    if "problem" in document:
        raise NotMeasured(str(document["problem"]))
    if document.get("functional_only"):
        raise NotMeasured("another process's memory shows that the functions work, but not how fast a device is")
    largest = document["sizes"][-1]
    found = []
    for action in ("write", "read"):
        pinned = largest[action]["pinned"]["mib_s"]["median"]
        for method, rates in largest[action].items():
            found.append(Figure(f"{action}_{method}", rates["mib_s"]["median"], "MiB/s", limit_value=pinned))
    return found


# hpcc's summary -> figure: name, unit, factor, limit, True if it is for one rank only.
_HPCC = (
    ("stream_copy", "StarSTREAM_Copy", "GB/s", "limit.memory:copy", True),
    ("stream_scale", "StarSTREAM_Scale", "GB/s", "limit.memory:scale", True),
    ("stream_add", "StarSTREAM_Add", "GB/s", "limit.memory:add", True),
    ("stream_triad", "StarSTREAM_Triad", "GB/s", TRIAD, True),
    ("dgemm", "StarDGEMM_Gflops", "GFLOPS", PEAK, True),
    ("fft", "MPIFFT_Gflops", "GFLOPS", PEAK, False),
)


def _hpcc(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    summary = document["summary"]
    ranks = int(summary["CommWorldProcs"])
    found = [Figure("hpl", float(summary["HPL_Tflops"]) * 1000, "GFLOPS", limit=PEAK)]
    for name, key, unit, limit, of_one in _HPCC:
        value = float(summary.get(key, -1))
        if value > 0:  # hpcc prints -1 for tests that did not run
            found.append(Figure(name, value * (ranks if of_one else 1), unit, limit=limit))
    return found


def _geofem(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    limit = document.get("limit", {}).get("gflops")
    return [
        Figure("gflops", document["gflops"]["median"], "GFLOPS", limit_value=limit),
        Figure("iterations", document["iterations"], "iterations", lower_is_better=True),
    ]


def _mdtest(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    found = []
    for row in document["runs"][-1]["operations"]:
        samples = tuple(row["items"] / s for s in row["seconds"] if s > 0)
        name = str(row["operation"]).replace(" ", "_")
        limit = row.get("limit_per_s") or None  # from the same run
        found.append(Figure(name, row["mean_per_s"], "operations/s", samples, f"limit.metadata:{name}", limit))
    return found


# IO500's phases whose limit is measured in the same session; it measures none for reads and for find.
_IO500_LIMITS = {
    "ior-easy-write": STORAGE,
    "ior-hard-write": STORAGE,
    "mdtest-easy-write": "limit.metadata:file_create",
    "mdtest-easy-stat": "limit.metadata:file_stat",
    "mdtest-hard-stat": "limit.metadata:file_stat",
    "mdtest-easy-delete": "limit.metadata:file_remove",
}


def _io500(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    score = document["score"]
    found = [
        Figure("score", score["total"], "IO500"),
        Figure("score_bandwidth", score["bandwidth_gib_s"] * 1024, "MiB/s"),
        Figure("score_iops", score["kiops"] * 1000, "operations/s"),
    ]
    for name, row in document["results"].items():
        factor, unit = (1024, "MiB/s") if row["unit"] == "GiB/s" else (1000, "operations/s")
        if row["value"] > 0:  # a phase that did not run
            found.append(Figure(name, row["value"] * factor, unit, limit=_IO500_LIMITS.get(name, "")))
    return found


# elbencho's phases on files without bytes -> our name; the same as in bench/metadata.
_ELBENCHO_ENTRIES = {"WRITE": "file_create", "STAT": "file_stat", "RMFILES": "file_remove"}


def _elbencho(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    phases = document["phases"]
    if case.pattern == "metadata":
        return [
            Figure(ours, phases[theirs]["entries_s"], "operations/s", limit=f"limit.metadata:{ours}")
            for theirs, ours in _ELBENCHO_ENTRIES.items()
            if theirs in phases
        ]
    found = []
    if "WRITE" in phases:
        write = phases["WRITE"]
        found.append(Figure("write", write["mib_s"], "MiB/s"))
        seconds = (write["ms"] + write.get("sync_ms", 0)) / 1000
        if "sync_ms" in write and seconds > 0:
            found.append(Figure("write_and_sync", write["mib"] / seconds, "MiB/s", limit=STORAGE))
    if "READ" in phases:
        found.append(Figure("read", phases["READ"]["mib_s"], "MiB/s"))
    return found


def _metadata(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    return [
        Figure(row["operation"], row["per_s"]["median"], "operations/s", tuple(row["samples_per_s"]))
        for row in document["operations"]
    ]


READERS: dict[str, Callable[[Case, Mapping[str, Any]], list[Figure]]] = {
    "memory": _memory,
    "flops": _flops,
    "limit": _limit,
    "link": _link,
    "ior": _ior,
    "btio": _btio,
    "fpp": _fpp,
    "ipc": _ipc,
    "transfer": _transfer,
    "hpcc": _hpcc,
    "geofem": _geofem,
    "mdtest": _mdtest,
    "metadata": _metadata,
    "io500": _io500,
    "elbencho": _elbencho,
}


def read(case: Case, document: Mapping[str, Any]) -> list[Figure]:
    """The figures of a verified document. Raises NotMeasured, or KeyError or ValueError for an unexpected document."""
    return READERS[case.program](case, document)
