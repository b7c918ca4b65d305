# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""One section for each part of the suite: figures, drawings, method, commands, raw data."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.tools.evaluate.case import SECTIONS
from millrace.tools.evaluate.references import Machine
from millrace.tools.evaluate.report import charts, papers, story
from millrace.tools.evaluate.report.charts import bar, kind_of
from millrace.tools.evaluate.session import PASSED, Session

Result = dict[str, Any]

_TITLES = {
    "memory": ("Memory", "What plain loops move, as STREAM counts it. Best pass; the thin line is the spread of all."),
    "compute": ("Processors", "The peak is multiply-and-add on registers, measured; all else is held against it."),
    "geofem": (
        "A finite-element solver",
        "GeoFEM-Cube: conjugate gradients with symmetric Gauss-Seidel. Its limit is the triad of the same run; "
        "iterations grow with the ranks, as each preconditions for itself.",
    ),
    "link": ("Messages", "Ping-pong by MPI: half of a round trip, and bytes of both directions by the time."),
    "storage": (
        "Storage",
        "One sequential stream into a new file, from open to close, with fsync: the limit of all writes.",
    ),
    "shared-file": (
        "One shared file",
        "IOR's patterns: all ranks write one file. Open, transfers, sync and close count.",
    ),
    "ranks": (
        "Twice as many ranks",
        "The same with twice as many ranks, which shows the cost of more ranks for each method.",
    ),
    "size": ("A larger file", "The same into a file four times as large, which shows the fixed cost of a file."),
    "strategy": (
        "Strategies of Millrace",
        "One shared file in pieces of 4 KiB, by strategy and by sort buffer, as in the Catwalk-ROMIO paper.",
    ),
    "mapping": (
        "Where ranks run",
        "The same on neighbouring processors (packed), and as far apart as they go (spread).",
    ),
    "checkpoint": (
        "Checkpoints",
        "NAS BT-IO: a 3-D field of 5 values per point, written every five steps. Only time in calls counts: what is "
        "written while the program goes on may pass the limit.",
    ),
    "file-per-process": ("A file per rank", "As the SX-Aurora papers measure it, in C and Fortran, with fsync."),
    "metadata": (
        "Metadata",
        "Creating, looking at and removing files and folders, as MDTEST does: first by one process with plain system "
        "calls, the limit, then by ranks with a folder each. Several ranks may pass the limit.",
    ),
    "io500": (
        "IO500",
        "The standard benchmark of storage for parallel programs, from easy (a file per rank, large pieces) to hard "
        "(one file, pieces of 47,008 bytes), beside the limits of this session. Reads have no limit here, because "
        "they may come from memory. Only runs of five minutes are valid for the list of IO500.",
    ),
    "elbencho": (
        "elbencho",
        "A storage benchmark with threads instead of ranks, on this node, beside the limits of this session. Only the "
        "rate with sync is comparable with the limit.",
    ),
    "ipc": ("Between processes", "Bytes from one process to another of the same node, against a copy in memory."),
    "device": ("Device memory", "Copies between this host's memory and a device's; pinned copies are the limit."),
}


@dataclass
class Section:
    """The page's view of one part."""

    name: str
    title: str
    lead: str
    drawings: list[tuple[str, str]] = field(default_factory=list)  # caption, HTML
    table: list[tuple[str, str, str, str]] = field(default_factory=list)  # case, figure, value, percent
    commands: list[tuple[str, str]] = field(default_factory=list)
    problems: list[tuple[str, str, str]] = field(default_factory=list)  # case, status, reason
    raw: str = ""  # a data: URL


def _memory(session: Session, results: list[Result], machines: Sequence[Machine]) -> list[tuple[str, str]]:
    """Beside what the modules have in theory, where the firmware tells it; one thread never gets that."""
    theory = session.machine.get("memory_bandwidth") or {"gb_s": None, "words": "not looked for by that version"}
    found = []
    for result in results:
        one = result["case"]["name"].endswith("-one")
        most = None if one else theory["gb_s"]
        rows = [bar(f, f["name"], "plain") for f in result["figures"]]
        if most:
            rows = [dataclasses.replace(row, percent=100 * row.value / most) for row in rows]
        drawn = charts.bars(rows, "GB/s", most, "theoretical")
        drawn += "" if one else charts.remark(f"Theoretical bandwidth: {theory['words']}.")
        found.append(("One thread" if one else "All processors", drawn))
    return found


def _compute(results: list[Result]) -> list[tuple[str, str]]:
    found = []
    for result in results:
        name = result["case"]["program"]
        if name == "flops":
            rows = [bar(f, f["name"], "plain") for f in result["figures"] if not f["name"].startswith("peak")]
            found.append(("Peak of each instruction set, all processors", charts.bars(rows, "GFLOPS")))
        elif name == "hpcc":
            rows = [bar(f, f["name"].upper(), "plain") for f in result["figures"] if f["unit"] == "GFLOPS"]
            peak = next((f["limit_value"] for f in result["figures"] if f["unit"] == "GFLOPS"), None)
            found.append(("hpcc", charts.bars(rows, "GFLOPS", peak, "measured peak")))
            streams = [f for f in result["figures"] if f["name"].startswith("stream")]
            rows = [bar(f, f["name"].replace("stream_", "STREAM "), "plain") for f in streams]
            limit = next((f["limit_value"] for f in streams if f["name"] == "stream_triad"), None)
            found.append(("STREAM inside hpcc", charts.bars(rows, "GB/s", limit, "triad of bench/memory")))
    return found


def _link(results: list[Result]) -> list[tuple[str, str]]:
    found = []
    for result in results:
        sizes = result["raw"]["sizes"]
        ways = {"one pair": "one_pair", "all pairs": "all_pairs"}
        for unit, key in (("MiB/s", "mib_s"), ("\u00b5s one way", "one_way_us")):
            series = {
                name: [(s["bytes"], s[way][key]["median"]) for s in sizes if way in s] for name, way in ways.items()
            }
            series = {name: curve for name, curve in series.items() if curve}
            found.append((f"{unit} over the size of a message", charts.lines(series, unit, "bytes per message")))
    return found


def _storage(results: list[Result]) -> list[tuple[str, str]]:
    found = []
    for result in results:
        best = next(f["value"] for f in result["figures"] if f["name"] == "write")
        rows = [bar(f, f["name"].replace("_", " "), "plain") for f in result["figures"] if f["name"] != "write"]
        found.append(("Ways to write one stream", charts.bars(rows, "MiB/s", best, "the limit")))
    return found


def _patterns(results: list[Result]) -> list[tuple[str, str]]:
    found = []
    for pattern in dict.fromkeys(r["case"]["pattern"] for r in results):
        rows, limit = [], None
        same = [r for r in results if r["case"]["pattern"] == pattern]
        many = len({r["case"]["mpi"] for r in same}) > 1
        for result in same:
            case, figure = result["case"], next(f for f in result["figures"] if f["name"] == "write")
            label = case["method"] + (f", {case['mpi']}" if many else "")
            rows.append(bar(figure, label, kind_of(case)))
            limit = figure["limit_value"]
        about = next(r["case"]["about"] for r in same)
        found.append((f"{pattern} \u2013 {about}", charts.bars(rows, "MiB/s", limit, "one sequential stream")))
    return found


def _standard(results: list[Result]) -> list[tuple[str, str]]:
    """IO500 and elbencho: bandwidth beside the stream to the storage, operations beside one process's own."""
    found = []
    for result in results:
        case = result["case"]
        for unit, what in (("MiB/s", "one sequential stream"), ("operations/s", "")):
            same = [f for f in result["figures"] if f["unit"] == unit and not f["name"].startswith("score")]
            rows = [bar(f, f["name"].replace("_", " "), kind_of(case)) for f in same]
            limits = [f["limit_value"] for f in same if f["limit_value"]] if what else []
            if rows:
                drawn = charts.bars(rows, unit, max(limits, default=None), what)
                found.append((f"{case['name']} \u2013 {case['about']}", drawn))
        if case["program"] == "io500":
            found.append((f"{case['name']}: score", charts.remark(_score(result))))
    return found


def _score(result: Result) -> str:
    score = result["raw"]["score"]
    words = "" if score["valid"] else " (not valid for the list: a phase was shorter than five minutes)"
    return (
        f"Score {story.number(score['total'])}{words}: bandwidth {story.number(score['bandwidth_gib_s'])} GiB/s, "
        f"{story.number(score['kiops'])} kIOPS, both geometric means."
    )


def _own_files(results: list[Result]) -> list[tuple[str, str]]:
    found = []
    for language in dict.fromkeys(r["case"]["pattern"] for r in results):
        same = [r for r in results if r["case"]["pattern"] == language]
        for action in ("write", "read"):
            series = {
                r["case"]["method"]: [(s["bytes_per_rank"], s[f"{action}_mib_s"]["median"]) for s in r["raw"]["sizes"]]
                for r in same
            }
            limit = [(s["bytes_per_rank"], s["limit"][f"{action}_mib_s"]) for s in same[0]["raw"]["sizes"]]
            found.append((f"{language.capitalize()}, {action}", charts.lines(series, "MiB/s", "bytes per rank", limit)))
    return found


def _ipc(results: list[Result]) -> list[tuple[str, str]]:
    found = []
    for result in results:
        methods = {n: m["sizes"] for n, m in result["raw"]["methods"].items() if "sizes" in m}
        series = {n: [(s["bytes"], s["write_mib_s"]["median"]) for s in sizes] for n, sizes in methods.items()}
        first = next(iter(methods.values()), [])
        limit = [(s["bytes"], s["limit_mib_s"]["median"]) for s in first]
        found.append(
            ("Bandwidth over the size of a message", charts.lines(series, "MiB/s", "bytes per message", limit))
        )
        delays = {n: [(s["bytes"], s["latency_us"]["median"]) for s in sizes] for n, sizes in methods.items()}
        found.append(("Half of a round trip", charts.lines(delays, "\u00b5s", "bytes per message")))
    return found


def _device(results: list[Result]) -> list[tuple[str, str]]:
    found = []
    for result in results:
        sizes = result["raw"]["sizes"]
        for action in ("write", "read"):
            names = [name for name in sizes[0][action] if name != "pinned"]
            series = {n: [(s["bytes"], s[action][n]["mib_s"]["median"]) for s in sizes] for n in names}
            limit = [(s["bytes"], s[action]["pinned"]["mib_s"]["median"]) for s in sizes]
            found.append((f"{action.capitalize()}", charts.lines(series, "MiB/s", "bytes per copy", limit)))
    return found


_DRAW: dict[str, Callable[[list[Result]], list[tuple[str, str]]]] = {
    "compute": _compute,
    "link": _link,
    "storage": _storage,
    "shared-file": _patterns,
    "ranks": _patterns,
    "size": _patterns,
    "checkpoint": _patterns,
    "file-per-process": _own_files,
    "io500": _standard,
    "elbencho": _standard,
    "ipc": _ipc,
    "device": _device,
}
# Sections with published figures or facts of the machine beside the results.
_DRAW_BESIDE = {
    "memory": _memory,
    "geofem": papers.geofem,
    "strategy": papers.strategies,
    "mapping": papers.mappings,
    "metadata": papers.metadata,
}


def _drawings(name: str, session: Session, passed: list[Result], machines: Sequence[Machine]) -> list[tuple[str, str]]:
    found = _DRAW[name](passed) if name in _DRAW else _DRAW_BESIDE[name](session, passed, machines)
    return [drawing for drawing in found if drawing[1]]


def raw_link(results: list[Result]) -> str:
    """The programs' own documents, inside the page."""
    documents = {r["case"]["name"]: {"command": r.get("command"), "output": r.get("raw")} for r in results}
    text = json.dumps(documents, separators=(",", ":")).encode()
    return "data:application/json;base64," + base64.b64encode(text).decode()


def _describe(result: Result, section: Section) -> None:
    for figure in result["figures"]:
        percent = figure["percent_of_limit"]
        section.table.append(
            (
                result["case"]["name"],
                figure["name"].replace("_", " "),
                f"{story.number(figure['value'])} {figure['unit']}",
                "" if percent is None else f"{percent:.1f} %",
            )
        )
    section.commands.append((result["case"]["name"], result.get("command", "")))


def build(session: Session, machines: Sequence[Machine] = ()) -> list[Section]:
    """The sections with content, in the order of the suite."""
    found = []
    everything = session.results()
    for name in SECTIONS:
        results = [r for r in everything if r["case"]["section"] == name]
        if not results:
            continue
        title, lead = _TITLES[name]
        section = Section(name, title, lead)
        passed = [r for r in results if r["status"] == PASSED]
        if passed:
            section.drawings = _drawings(name, session, passed, machines)
            section.raw = raw_link(passed)
        for result in results:
            if result["status"] == PASSED:
                _describe(result, section)
            else:
                section.problems.append((result["case"]["name"], result["status"], result["reason"]))
        found.append(section)
    return found
