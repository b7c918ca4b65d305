# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The IO500 benchmark (https://io500.org): its configuration for the size of a session, and its own summary."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from millrace.tools.evaluate.errors import BadOutput

INPUT, RESULTS, SUMMARY = "io500.ini", "io500-results", "result_summary.txt"
ABSENT = "io500 is not on PATH (https://github.com/IO500/io500: ./prepare.sh, then add its folder to PATH)"
VALID_S = 300  # a run with a shorter stonewall is not valid for the list
HARD_BYTES = 47008  # of each piece of ior-hard, by the rules
_TEMPLATE = """# Written by millrace evaluate.
[global]
datadir = {folder}/io500
timestamp-datadir = FALSE
resultdir = ./{results}
timestamp-resultdir = FALSE
api = POSIX

[debug]
stonewall-time = {seconds}

[ior-easy]
transferSize = 2m
blockSize = {block_mib}m

[mdtest-easy]
n = {items}

[ior-hard]
API = {hard_api}
segmentCount = {segments}

[mdtest-hard]
n = {items}
"""
_RESULT = re.compile(r"^\[(?:RESULT|\s*)\]\s+(\S+)\s+([\d.eE+-]+)\s+(GiB/s|kIOPS)\s*:\s*time\s+([\d.]+)\s+seconds(.*)$")
_SCORE = re.compile(r"^\[SCORE \]\s+Bandwidth\s+(\S+)\s+GiB/s\s*:\s*IOPS\s+(\S+)\s+kiops\s*:\s*TOTAL\s+(\S+)(.*)$")


def program() -> str | None:
    return shutil.which("io500")


def prepare(folder: Path, more: dict[str, Any]) -> None:
    """Writes the configuration. The ranks together write `bytes` in each of the two patterns, at most."""
    ranks = max(1, int(more["ranks"]))
    share = int(more["bytes"]) // ranks
    text = _TEMPLATE.format(
        folder=more["folder"],
        results=RESULTS,
        seconds=more["seconds"],
        block_mib=max(2, share >> 20 & ~1),
        items=more["items"],
        hard_api=more["hard_api"],
        segments=max(1, share // HARD_BYTES),
    )
    (folder / INPUT).write_text(text, encoding="utf-8")


def read(folder: Path, stdout: str) -> dict[str, Any]:
    summary = folder / RESULTS / SUMMARY
    return parse(summary.read_text(encoding="utf-8", errors="replace") if summary.is_file() else stdout)


def parse(text: str) -> dict[str, Any]:
    """The lines of result_summary.txt, which are also a part of the program's output."""
    results, score = {}, None
    for line in text.splitlines():
        if found := _RESULT.match(line):
            name, value, unit, seconds, rest = found.groups()
            results[name] = {
                "value": float(value),
                "unit": unit,
                "seconds": float(seconds),
                "valid": "INVALID" not in rest,
            }
        elif found := _SCORE.match(line):
            bandwidth, iops, total, rest = found.groups()
            score = {
                "bandwidth_gib_s": float(bandwidth),
                "kiops": float(iops),
                "total": float(total),
                "valid": "INVALID" not in rest,
            }
    if score is None or not results:
        raise BadOutput("io500 printed no score: it ended early")
    return {
        "schema": "millrace-bench",
        "version": 1,
        "benchmark": "io500",
        "results": results,
        "score": score,
        "verified": True,  # IO500's rules check the amount of data, not the bytes
    }
