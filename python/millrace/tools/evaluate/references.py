# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Published machines, and a user's own, as YAML: figures with source, and the peaks that they are held against."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from millrace.tools import yaml_file
from millrace.tools.evaluate.errors import EvaluationError

SCHEMA = "millrace.machine/1"
_REQUIRED = ("schema", "name", "source", "figures")


@dataclass(frozen=True)
class Entry:
    """One published figure. `percent` is as printed; `of` is the peak, in the figure's unit, that it belongs to."""

    name: str
    value: float
    unit: str
    percent: str = ""
    of: float | None = None
    note: str = ""
    rounding: str = "nearest"  # "nearest" or "down": the rounding of the printed value and percentage

    def recomputed(self) -> tuple[str, str] | None:
        """The least and the largest percentage, as printed, that the printed value can stand for.

        The two are the same where the value has digits enough.
        """
        if not self.percent or self.of is None:
            return None
        value, peak = Decimal(repr(self.value)), Decimal(repr(self.of))
        digits = Decimal(1).scaleb(-len(self.percent.partition(".")[2]))
        last = Decimal(1).scaleb(int(value.as_tuple().exponent))
        cut = self.rounding == "down"
        how = ROUND_DOWN if cut else ROUND_HALF_UP
        low, high = (x * 100 / peak for x in ((value, value + last) if cut else (value - last / 2, value + last / 2)))
        return str(low.quantize(digits, rounding=how)), str(high.quantize(digits, rounding=how))


@dataclass(frozen=True)
class Machine:
    """A machine and its published figures."""

    name: str
    source: str
    about: str
    figures: tuple[Entry, ...]

    def figure(self, name: str) -> Entry | None:
        return next((entry for entry in self.figures if entry.name == name), None)


def _entry(path: Path, row: Any) -> Entry:
    if not isinstance(row, dict) or not {"name", "value", "unit"} <= set(row):
        raise EvaluationError(f"{path}: each figure needs name, value and unit, not {row!r}")
    unknown = set(row) - {"name", "value", "unit", "percent", "of", "note", "rounding"}
    if unknown:
        raise EvaluationError(f"{path}: figure {row['name']}: {', '.join(sorted(unknown))} is not known")
    try:
        return Entry(
            str(row["name"]),
            float(row["value"]),
            str(row["unit"]),
            str(row.get("percent", "")),
            float(row["of"]) if "of" in row else None,
            str(row.get("note", "")),
            str(row.get("rounding", "nearest")),
        )
    except (TypeError, ValueError):
        raise EvaluationError(f"{path}: figure {row['name']}: value and of must be numbers") from None


def load(path: Path) -> Machine:
    """Reads a machine's file. Raises EvaluationError with the line if it is malformed."""
    document = yaml_file.read(path, EvaluationError)
    if not isinstance(document, dict):
        raise EvaluationError(f"{path} is not a mapping: a machine's file begins with schema, name, source, figures")
    missing = [name for name in _REQUIRED if name not in document]
    if missing:
        raise EvaluationError(f"{path}: {', '.join(missing)} is missing")
    if document["schema"] != SCHEMA:
        raise EvaluationError(f"{path}: schema is {document['schema']!r}, not {SCHEMA}")
    if not isinstance(document["figures"], list):
        raise EvaluationError(f"{path}: figures must be a list")
    figures = tuple(_entry(path, row) for row in document["figures"])
    return Machine(str(document["name"]), str(document["source"]), str(document.get("about", "")), figures)


def load_all() -> list[Machine]:
    """The published ones that come with Millrace."""
    return [load(path) for path in sorted((Path(__file__).parent / "machines").glob("*.yaml"))]
