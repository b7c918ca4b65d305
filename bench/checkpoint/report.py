# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Rates as JSON and as a table."""

from __future__ import annotations

import statistics
from typing import Any

from . import methods
from .measure import PHASES, Rounds

_HEADINGS = {
    "save": "save",
    "save_fsync": "save, fsync",
    "load": "load, cached",
    "load_cold": "load, from the disk",
}


def to_json(about: dict[str, Any], rounds: Rounds, limit: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "schema": "millrace-checkpoint",
        "version": 1,
        **about,
        "rates_mib_s": rounds.rates,
        "processor_s": rounds.processor,
        "waits_s": rounds.waits,
        "disk": limit,
        "wrong": rounds.wrong,
    }


def markdown(document: dict[str, Any]) -> str:
    rates = {name: {p: statistics.median(found[p]) for p in PHASES} for name, found in document["rates_mib_s"].items()}
    where = f" on {document['device']}" if document["device"] else ""
    lines = [
        f"{document['bytes'] / (1 << 30):.3g} GiB in {document['arrays']} arrays{where}, "
        f"medians of {document['rounds']}, MiB/s "
        "(as a multiple of `stream`: one thread, one array after the other; processor seconds).",
        "",
        "| way | " + " | ".join(_HEADINGS[phase] for phase in PHASES) + " |",
        "|" + " --- |" * (1 + len(PHASES)),
    ]
    for name, found in rates.items():
        cells = []
        for phase in PHASES:
            seconds = statistics.median(document["processor_s"][name][phase])
            cells.append(f"{found[phase]:,.0f} ({found[phase] / rates['stream'][phase]:.2f}; {seconds:.2f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    ours = rates[methods.ours(document["device"])]
    whole = document["bytes"] / (1 << 20)
    foreground = whole / ours["save_fsync"]
    lines.append("")
    for name, found in document["waits_s"].items():
        waited = statistics.median(found)
        lines.append(
            f"In the background, arrays {name}: the program waits {waited:.3f} s, "
            f"{waited / foreground:.2f} of the {foreground:.2f} s in the foreground.  "
        )
    if document["disk"]:
        limit, best = document["disk"]["mib_s"], document["disk"]["best"]
        share = ours["save_fsync"] / limit
        lines.append(f"The disk's limit (bench/limit, {best}): {limit:,.0f} MiB/s; millrace {share:.2f} of it.")
    return "\n".join(lines) + "\n"
