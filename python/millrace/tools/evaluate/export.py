# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A session as one file for other programs: JSON with all data, or Parquet with a row for each figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.session import Session, write_atomically

SCHEMA = "millrace.evaluate.export/1"


def document(session: Session) -> dict[str, Any]:
    return {"schema": SCHEMA, "session": session.document, "results": session.results()}


def rows(session: Session) -> list[dict[str, Any]]:
    """One row for each figure of each case that passed."""
    found = []
    for result in session.results():
        case = result["case"]
        for figure in result.get("figures", []):
            found.append(
                {
                    "session": session.name,
                    "case": case["name"],
                    "section": case["section"],
                    "program": case["program"],
                    "mpi": case["mpi"],
                    "millrace": bool(case["millrace"]),
                    "ranks": case["ranks"],
                    "pattern": case["pattern"],
                    "method": case["method"],
                    "figure": figure["name"],
                    "value": float(figure["value"]),
                    "unit": figure["unit"],
                    "limit_value": figure["limit_value"],
                    "percent_of_limit": figure["percent_of_limit"],
                    "samples": [float(x) for x in figure["samples"]],
                    "date": result["date"],
                }
            )
    return found


def write_json(session: Session, path: Path) -> None:
    write_atomically(path, json.dumps(document(session), indent=1) + "\n")


def write_parquet(session: Session, path: Path) -> None:
    try:
        import polars
    except ImportError:
        raise EvaluationError(
            "Parquet needs Python's polars (python3 -m pip install polars); --format json needs no package"
        ) from None
    polars.DataFrame(rows(session), infer_schema_length=None).write_parquet(path)
