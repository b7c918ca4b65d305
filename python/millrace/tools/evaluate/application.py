# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A program's output, as its user describes it in YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.tools import yaml_file
from millrace.tools.evaluate.errors import EvaluationError
from millrace.units import parse_bytes, parse_duration

SCHEMA = "millrace.application/1"
SHARED, OWN = "shared", "file-per-rank"
CALLS = ("independent", "collective", "posix", "any")
_KEYS = {"schema", "name", "ranks", "nodes", "checkpoint", "piece", "layout", "calls", "interval"}


@dataclass(frozen=True)
class Application:
    """A program's output. `calls` and `layout` are its present ones; others need a change of the program."""

    name: str
    ranks: int
    checkpoint_bytes: int
    piece_bytes: int
    layout: str
    calls: str
    interval_s: float
    nodes: int = 1
    source: str = ""  # the log; empty: a user's description


def load(path: Path) -> Application:
    """Reads a description in YAML; raises EvaluationError with the reason if it is wrong."""
    document = yaml_file.read(path, EvaluationError)
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise EvaluationError(f"{path}: a description begins with schema: {SCHEMA}")
    return describe(document, str(path))


def describe(document: Mapping[str, Any], where: str) -> Application:
    unknown = set(document) - _KEYS
    missing = {"ranks", "checkpoint", "piece", "interval"} - set(document)
    if unknown or missing:
        words = [f"{', '.join(sorted(missing))} is missing"] * bool(missing)
        words += [f"{', '.join(sorted(unknown))} is not known"] * bool(unknown)
        raise EvaluationError(f"{where}: {'; '.join(words)}")
    layout, calls = str(document.get("layout", SHARED)), str(document.get("calls", "any"))
    if layout not in (SHARED, OWN) or calls not in CALLS:
        raise EvaluationError(f"{where}: layout must be {SHARED} or {OWN}, and calls one of {', '.join(CALLS)}")
    try:
        found = Application(
            str(document.get("name", "application")),
            int(document["ranks"]),
            parse_bytes(str(document["checkpoint"])),
            parse_bytes(str(document["piece"])),
            layout,
            calls,
            parse_duration(str(document["interval"])) / 1000,
            int(document.get("nodes", 1)),
        )
    except (TypeError, ValueError) as error:
        raise EvaluationError(f"{where}: {error}") from None
    if min(found.ranks, found.nodes, found.checkpoint_bytes, found.piece_bytes, found.interval_s) <= 0:
        raise EvaluationError(f"{where}: ranks, nodes, checkpoint, piece and interval must be above zero")
    return found
