# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The results as JSON, and as a report in Markdown that names what was not measured, and why."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import statistics

from . import plan
from .measure import Results
from .peers import Peer
from .statements import Statement

MIB = 1 << 20


def _size(size: int) -> str:
    if size >= MIB:
        return f"{size // MIB} MiB"
    return f"{size // 1024} KiB" if size >= 1024 else f"{size} B"


def _table(headings: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(headings) + " |", "|" + " --- |" * len(headings)]
    return [*lines, *("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows), ""]


def _ipc(r: Results) -> list[str]:
    lines = ["## Between two processes", ""]
    documents = [document for one in r.of("ipc") for document in one.documents]
    if not documents:
        return [*lines, f"Not measured: {r.reason('ipc')}.", ""]
    methods = documents[0]["methods"]
    absent = [f"{name}: {found['problem']}" for name, found in methods.items() if "problem" in found]
    there = {name: found["sizes"] for name, found in methods.items() if "problem" not in found}
    sizes = [row["bytes"] for row in next(iter(there.values()), [])]
    rows = []
    for name, found in there.items():
        rates = [f"{row['write_mib_s']['median']:.4g} / {row['read_mib_s']['median']:.4g}" for row in found]
        rows.append([name, f"{found[0]['latency_us']['median']:.3g}", *rates])
    limits = [max(found[i]["limit_mib_s"]["median"] for found in there.values()) for i in range(len(sizes))]
    rows.append(["limit: a copy", "-", *(f"{limit:.4g}" for limit in limits)])
    lines += ["MiB/s from the first process to the second / back; latency of the smallest message.", ""]
    lines += _table(["way", "latency, us", *map(_size, sizes)], rows)
    return lines + [f"Not here: {text}." for text in absent] + [""] * bool(absent)


def _transfer(r: Results) -> list[str]:
    lines = ["## To and from a device", ""]
    for one in r.of("transfer"):
        if not one.documents:
            lines += [f"Not measured: {one.problem}.", ""]
            continue
        document = one.documents[0]
        note = " **Functional only**: it shows what works, not how fast a device is." * document["functional_only"]
        lines += [f"{document['device']}, MiB/s; the limit is `pinned`.{note}", ""]
        rows = [
            [_size(row["bytes"]), direction]
            + [f"{row[direction][m]['mib_s']['median']:.0f}" for m in ("pageable", "pinned", "staged", "async")]
            + [f"{row['host_copy_mib_s']['median']:.0f}"]
            for row in document["sizes"]
            for direction in ("write", "read")
        ]
        lines += _table(["size", "direction", "pageable", "pinned", "staged", "async", "host copy"], rows)
    return lines


def _fpp(r: Results, part: str, title: str) -> list[str]:
    lines = [f"## {title}", ""]
    if r.reason(part):
        lines += [f"Not measured: {r.reason(part)}.", ""]
    lines += ["Means of all ranks and repetitions; what they are of the limit: medians.", ""]
    rows = []
    for one in r.of(part):
        for size in r.sizes(one):
            found = [row for document in one.documents for row in document["sizes"] if row["bytes_per_rank"] == size]
            p = one.point
            cells = [p.language, p.buffer, str(p.ranks), _size(size), p.method + f" ({p.mapping})" * bool(p.mapping)]
            for direction in ("write", "read"):
                limit = statistics.fmean(row["limit"][f"{direction}_mib_s"] for row in found)
                fraction = statistics.fmean(row[f"{direction}_fraction_of_limit"] for row in found)
                cells += [f"{r.rate(one, size, direction):.0f}", f"{limit:.0f}", f"{fraction:.2f}"]
            if part == "disk":
                stream = r.limits.get(size * p.ranks)
                cells.append(f"{stream:.0f}" if stream else "-")
            rows.append(cells)
    if rows:
        headings = [
            "language",
            "buffer",
            "ranks",
            "per rank",
            "method",
            "write",
            "limit",
            "of it",
            "read",
            "limit",
            "of it",
        ]
        lines += _table(headings + ["one stream"] * (part == "disk"), rows)
    return lines


def _published(published: dict) -> list[str]:
    rows = [
        [one["configuration"], str(one["ranks"]), one["language"], one["direction"], one["method"], f"{one['gb_s']:g}"]
        for one in published["fpp"]
    ]
    return [
        "## Published",
        "",
        published["source"],
        "",
        f"{published['machine']}; file per process, 1 GB per rank, buffer 512 KB, GB/s. One link: "
        f"{published['link_gb_s']['theory']} in theory, {published['link_gb_s']['sustained'][0]} to "
        f"{published['link_gb_s']['sustained'][1]} sustained. Between processes of host and engine at most about "
        f"{published['ipc_peak_mb_s']} MB/s. Transfers: {published['transfer']}.",
        "",
        *_table(["configuration", "ranks", "language", "direction", "method", "GB/s"], rows),
    ]


def markdown(document: dict, r: Results, stated: list[Statement], found: list[Peer], figures: list[str]) -> str:
    about = document["machine"]
    lines = [
        f"`{document['command']}`",
        "",
        f"{document['date']}; {about['cores']} cores, {about['memory_gib']} GiB, Linux {about['kernel']}, "
        f"{about['architecture']}, {about['file_system']}. Rates in MiB/s.",
        "",
        *(f"- {one.line()}" for one in stated),
        "",
        *(line for name in figures for line in (f"![{name}]({name})", "")),
        *_ipc(r),
    ]
    if found:
        rows = [[p.tool, p.method, p.what, f"{p.theirs:.4g}", f"{p.ours:.4g}", f"{p.ratio:.2f}"] for p in found]
        lines += _table(["tool", "way", "what", "tool's", "bench/ipc's", "ratio, above 1: ipc is faster"], rows)
    lines += _transfer(r)
    lines += _fpp(r, "host", "File per process, host memory")
    lines += _fpp(r, "disk", "File per process, host memory, with fsync")
    lines += _fpp(r, "device", "File per process, device memory")
    if document["not_run"]:
        lines += ["No time was left for: " + "; ".join(document["not_run"]) + ".", ""]
    return "\n".join(lines + _published(document["published"]))


def to_json(about: dict, r: Results, stated: list[Statement], found: list[Peer]) -> dict:
    return {
        "schema": "millrace-device",
        "version": 1,
        **about,
        "rule": plan.__doc__,
        "statements": [dataclasses.asdict(one) for one in stated],
        "peers": [dataclasses.asdict(one) for one in found],
        "disk_limits_mib_s": {str(size): rate for size, rate in r.limits.items()},
        "points": [one.to_json() for one in r.measured],
    }


def write(out: pathlib.Path, document: dict, text: str) -> None:
    (out / "device.json").write_text(json.dumps(document, indent=1) + "\n")
    (out / "device.md").write_text(text)
