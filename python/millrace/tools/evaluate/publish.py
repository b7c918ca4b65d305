# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The formats of a session: a page, Markdown, JSON, Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.references import Machine, load, load_all
from millrace.tools.evaluate.session import Session

FORMATS = ("html", "md", "json", "parquet")


def check_formats(formats: Sequence[str]) -> None:
    for name in formats:
        if name not in FORMATS:
            raise EvaluationError(f"format {name!r} is unknown: use one of {', '.join(FORMATS)}")


def references(own: Sequence[Path]) -> list[Machine]:
    """The published machines, and the user's own."""
    return [*load_all(), *(load(path) for path in own)]


def publish(session: Session, formats: Sequence[str], machines: Sequence[Machine]) -> list[Path]:
    written = []
    for name in formats:
        if name in ("html", "md"):
            written.append(_page(session, name, machines))
        else:
            from millrace.tools.evaluate import export

            path = session.folder / f"evaluation.{name}"
            (export.write_json if name == "json" else export.write_parquet)(session, path)
            written.append(path)
    return written


def _page(session: Session, kind: str, machines: Sequence[Machine]) -> Path:
    try:
        from millrace.tools.evaluate.report import markdown, page
    except ImportError as error:
        raise EvaluationError(
            f"no report, because Python's {error.name} is missing: python3 -m pip install 'millrace-io[evaluate]'; "
            "all results are kept, and --report-only writes the report later"
        ) from None
    path = session.folder / ("report.html" if kind == "html" else "report.md")
    (page if kind == "html" else markdown).write(path, session, machines)
    return path
