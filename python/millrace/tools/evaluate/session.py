# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A session: one evaluation in a folder, written so that a kill at any moment loses at most the running case."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from millrace.tools.evaluate.case import Case
from millrace.tools.evaluate.errors import EvaluationError

SCHEMA = "millrace.evaluate/1"
RESULT_SCHEMA = "millrace.evaluate.result/1"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


def write_atomically(path: Path, text: str) -> None:
    """Writes a file: at any time it has the old content or the new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def read_json(path: Path, what: str) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EvaluationError(f"{path}: {error.strerror}: {what} cannot be read") from None
    except ValueError as error:
        raise EvaluationError(f"{path} is damaged ({error}): {what} cannot be read; remove it to continue") from None
    if not isinstance(document, dict):
        raise EvaluationError(f"{path} is not {what}")
    return document


def now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


class Session:
    """The folder: session.json (plan and machine), results/NAME.json (one per case), reframe/ (its own files)."""

    def __init__(self, folder: Path, document: dict[str, Any]):
        self.folder = folder
        self.document = document

    @staticmethod
    def create(folder: Path, document: dict[str, Any], cases: Iterable[Case]) -> Session:
        (folder / "results").mkdir(parents=True, exist_ok=True)
        session = Session(folder, {"schema": SCHEMA, "begun": now(), **document})
        session.document["plan"] = [case.document() for case in cases]
        session.save()
        return session

    @staticmethod
    def is_there(folder: Path) -> bool:
        return (folder / "session.json").is_file()

    @staticmethod
    def open(folder: Path) -> Session:
        if not Session.is_there(folder):
            raise EvaluationError(
                f"{folder} holds no session: there is no session.json (`millrace evaluate` makes one)"
            )
        document = read_json(folder / "session.json", "the session")
        if document.get("schema") != SCHEMA:
            raise EvaluationError(f"{folder}/session.json has schema {document.get('schema')!r}, not {SCHEMA}")
        return Session(folder, document)

    def save(self) -> None:
        write_atomically(self.folder / "session.json", json.dumps(self.document, indent=1) + "\n")

    @property
    def name(self) -> str:
        return str(self.document.get("name") or self.folder.resolve().name)

    @property
    def machine(self) -> dict[str, Any]:
        """Facts of the node that was measured: with a scheduler not those of the one that began the session."""
        found = dict(self.document["machine"])
        path = self.folder / "node.json"
        if self.document.get("scheduler") and path.is_file():
            with contextlib.suppress(EvaluationError):
                found.update(read_json(path, "the node's facts"))
        return found

    @property
    def database(self) -> Path:
        return self.folder / "reframe" / "results.db"

    @property
    def cases(self) -> list[Case]:
        return [Case.load(row) for row in self.document["plan"]]

    def case(self, name: str) -> Case:
        return next(case for case in self.cases if case.name == name)

    # Results.

    def path_of(self, name: str) -> Path:
        return self.folder / "results" / (re.sub(r"[^\w.+-]", "_", name) + ".json")

    def store(self, case: Case, status: str, reason: str = "", **more: Any) -> None:
        document = {
            "schema": RESULT_SCHEMA,
            "case": case.document(),
            "status": status,
            "reason": reason,
            "date": now(),
            **more,
        }
        self.path_of(case.name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path_of(case.name), json.dumps(document, indent=1) + "\n")

    def result(self, name: str) -> dict[str, Any] | None:
        """The result of a case; None if there is none or it is damaged. damaged() reports the latter."""
        path = self.path_of(name)
        if not path.is_file():
            return None
        try:
            document = read_json(path, "a result")
        except EvaluationError:
            return None
        return document if document.get("schema") == RESULT_SCHEMA else None

    def results(self) -> list[dict[str, Any]]:
        return [found for case in self.cases if (found := self.result(case.name)) is not None]

    def damaged(self) -> list[str]:
        """Names of cases with an unreadable result."""
        return [c.name for c in self.cases if self.path_of(c.name).is_file() and self.result(c.name) is None]

    def waiting(self, *, limits: bool) -> list[Case]:
        """Cases that can run and have not passed."""
        rows = [c for c in self.cases if c.limit == limits and not c.missing]
        return [c for c in rows if (self.result(c.name) or {}).get("status") != PASSED]

    def figures(self) -> dict[str, dict[str, Any]]:
        """CASE:FIGURE -> figure, for all cases that passed."""
        found = {}
        for result in self.results():
            if result["status"] == PASSED:
                for figure in result.get("figures", []):
                    found[f"{result['case']['name']}:{figure['name']}"] = figure
        return found
