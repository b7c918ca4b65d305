# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""`millrace advise`: which I/O method an application should use, from what a session measured (settings: tuning.py).

A method's rate at the application's piece is read off the measured pieces, between two of them on a straight line in
logarithms, outside of them as the nearest; that is the rate of a file as large as the measured ones. A part of its time
is there whatever the size (opening, the end of a sync), as a larger file showed; the rest grows with the bytes. Up to
twice as many ranks as measured cost each method what they cost it with pieces of 4 KiB. Other numbers of ranks are not
modelled, and the answer says where they differ.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from millrace.run.command import EXIT_BAD_USE, tell
from millrace.tools.evaluate import application as described
from millrace.tools.evaluate import darshan_log, tuning
from millrace.tools.evaluate.application import OWN, Application
from millrace.tools.evaluate.case import OWN_FILES
from millrace.tools.evaluate.errors import EvaluationError
from millrace.tools.evaluate.report.story import cases_of, number
from millrace.tools.evaluate.session import Session
from millrace.units import human_bytes, parse_bytes


@dataclass(frozen=True)
class Prediction:
    """One method: seconds of a checkpoint, and its share of the run."""

    method: str
    rate_mib_s: float
    seconds: float
    share: float
    change: str  # that the program needs; empty: none
    why: str


@dataclass
class _Method:
    """The measured rates of one method, by size of a piece."""

    name: str
    short: str  # the case's third part: posix, independent, ...; OWN
    points: dict[int, float] = dataclasses.field(default_factory=dict)
    ranks: int = 0  # ranks of the measurement
    twice: float = 1  # ratio of the rate with twice as many ranks
    file_bytes: int = 0  # of the measured files; 0: unknown

    def seconds(self, amount: int, rate_mib_s: float, start_s: float) -> float:
        """Seconds of a checkpoint, at the rate of a file of the measured size."""
        if not self.file_bytes or not start_s:
            return amount / (1 << 20) / rate_mib_s
        measured = self.file_bytes / (1 << 20) / rate_mib_s
        start = min(start_s, measured / 2)
        return start + (measured - start) * amount / self.file_bytes

    def rate(self, piece: int, ranks: int) -> tuple[float, str]:
        """The rate in MiB/s, and the measurements behind it."""
        rate, why = self._rate_of(piece)
        if self.twice == 1 or ranks <= self.ranks:
            return rate, why
        factor = self.twice ** min(1, math.log2(ranks / self.ranks))
        return rate * factor, f"{why}; {ranks} ranks: times {factor:.2f}"

    def _rate_of(self, piece: int) -> tuple[float, str]:
        sizes = sorted(self.points)
        below = [s for s in sizes if s <= piece] or sizes[:1]
        above = [s for s in sizes if s >= piece] or sizes[-1:]
        low, high = below[-1], above[0]
        if low == high or piece <= low or piece >= high:
            nearest = low if piece >= low else high
            return self.points[nearest], f"{number(self.points[nearest])} MiB/s measured at {human_bytes(nearest)}"
        part = math.log(piece / low) / math.log(high / low)
        rate = math.exp((1 - part) * math.log(self.points[low]) + part * math.log(self.points[high]))
        seen = " and ".join(f"{number(self.points[s])} MiB/s at {human_bytes(s)}" for s in (low, high))
        return rate, f"between {seen}"


def _write(result: Mapping[str, Any]) -> float:
    return float(next(f for f in result["figures"] if f["name"] == "write")["value"])


def _methods(session: Session) -> list[_Method]:
    found: dict[str, _Method] = {}
    several = len(session.document.get("mpis", [])) > 1
    for result in cases_of(session, "shared-file"):
        case = result["case"]
        short = OWN if case["method"] == OWN_FILES else case["name"].split(".")[2]
        transfer = int(result["raw"].get("parameters", {}).get("transfer") or _piece(case["pattern"]))
        name = case["method"] + (f" ({case['mpi']})" if several else "")
        method = found.setdefault(name, _Method(name, short, ranks=int(case["ranks"])))
        method.points[transfer] = _write(result)
        method.file_bytes = int(result["raw"].get("bytes", 0))
    for result in cases_of(session, "ranks"):
        method = found.get(result["case"]["method"] + (f" ({result['case']['mpi']})" if several else ""))
        once = method.points.get(_piece(result["case"]["pattern"])) if method else None
        if method and once:
            method.twice = _write(result) / once
    return list(found.values())


def start_of_file(session: Session) -> float:
    """The constant time of a file in seconds, from a line through two sizes. 0 if only one size was measured."""
    for result in cases_of(session, "size"):
        case, large = result["case"], int(result["raw"].get("bytes", 0))
        same = ("method", "mpi", "pattern")
        for other in cases_of(session, "shared-file"):
            small = int(other["raw"].get("bytes", 0))
            if not 0 < small < large or any(other["case"][name] != case[name] for name in same):
                continue
            of_small, of_large = small / (1 << 20) / _write(other), large / (1 << 20) / _write(result)
            return max(0.0, of_small - (of_large - of_small) * small / (large - small))
    return 0.0


def _piece(pattern: str) -> int:
    return parse_bytes(pattern.replace(" ", "")) if pattern[:1].isdigit() else 1 << 20


def _change(application: Application, short: str) -> str:
    """The change that the program needs for this method."""
    if short == OWN:
        return "" if application.layout == OWN else f"{OWN_FILES} instead of a shared one"
    words = ["one shared file"] * (application.layout == OWN)
    kind = {"posix": "posix", "independent": "independent", "millrace": "independent"}.get(short, "collective")
    if application.calls not in ("any", kind):
        words.append({"posix": "POSIX calls", "independent": "independent MPI-IO calls"}.get(kind, "collective calls"))
    return ", ".join(words)


def predict(session: Session, application: Application) -> list[Prediction]:
    """The predictions, the fastest first."""
    found = []
    start_s = start_of_file(session)
    for method in _methods(session):
        rate, why = method.rate(application.piece_bytes, application.ranks)
        seconds = method.seconds(application.checkpoint_bytes, rate, start_s)
        share = seconds / (seconds + application.interval_s)
        rate = application.checkpoint_bytes / (1 << 20) / seconds
        found.append(Prediction(method.name, rate, seconds, share, _change(application, method.short), why))
    if not found:
        raise EvaluationError(
            "this session has no I/O method of shared files: run it without --only, or with --only ior"
        )
    return sorted(found, key=lambda p: p.seconds)


def caveats(session: Session, application: Application) -> list[str]:
    """The properties of the application that lie outside of the measurements."""
    found = []
    results = cases_of(session, "shared-file")
    ranks = {int(r["case"]["ranks"]) for r in results + cases_of(session, "ranks")}
    if start_s := start_of_file(session):
        found.append(f"each file costs {start_s * 1000:.0f} ms in addition, with any size (measured with two sizes)")
    if application.ranks not in ranks:
        measured = ", ".join(map(str, sorted(ranks)))
        found.append(f"measured with {measured} ranks, not {application.ranks}: trust the order more than the times")
    sizes = [int(r["raw"].get("bytes", 0)) for r in results]
    if sizes and application.checkpoint_bytes > 16 * max(sizes) > 0:
        found.append(f"measured with files of {human_bytes(max(sizes))}: a cache of the storage may have helped")
    pieces = [p for method in _methods(session) if method.short != OWN for p in method.points]
    if pieces and not min(pieces) <= application.piece_bytes <= max(pieces):
        nearest = human_bytes(min(max(application.piece_bytes, min(pieces)), max(pieces)))
        found.append(f"pieces of this size were not measured in a shared file; the advice uses those of {nearest}")
    return found


def recommendation(found: list[Prediction]) -> str:
    """The best method without a change of the program, and the gain of such a change."""
    best = found[0]
    ready = next((p for p in found if not p.change), None)
    if ready is None:
        return f"Use {best.method}; it needs {best.change}."
    how = " (`millrace run`, strategy auto)" if "Millrace" in ready.method else ""
    text = f"Use {ready.method}{how}: {ready.seconds:.3g} s for each checkpoint, {ready.share:.1%} of the run."
    if best is not ready and best.seconds < 0.9 * ready.seconds:
        text += f" With {best.change} {best.method} would take {best.seconds:.3g} s."
    return text


def run(path: Path, folder: Path, as_json: bool) -> int:
    try:
        reader = darshan_log if path.suffix == darshan_log.SUFFIX else described
        session, application = Session.open(folder), reader.load(path)
        found = predict(session, application)
    except EvaluationError as error:
        tell(str(error))
        return EXIT_BAD_USE
    notes = [application.source] * bool(application.source) + caveats(session, application)
    settings = tuning.sentences(session, application, found)
    if as_json:
        rows = [dataclasses.asdict(p) for p in found]
        document = {"schema": "millrace.advice/1", "advice": recommendation(found), "methods": rows, "notes": notes}
        document["tuning"] = [dataclasses.asdict(one) for one in settings]
        print(json.dumps(document))
        return 0
    table = Table("method", "checkpoint", "of the run", "needs", "because")
    for p in found:
        table.add_row(p.method, f"{p.seconds:.3g} s", f"{p.share:.1%}", p.change or "nothing", p.why)
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    console.print(f"{application.name}: {recommendation(found)}", highlight=False, markup=False)
    console.print(table)
    for one in settings:
        console.print(f"{one.topic}: {one.advice}", highlight=False, markup=False)
        console.print(f"    {one.why}", highlight=False, markup=False, style="dim")
    for note in notes:
        console.print(f"note: {note}", highlight=False, markup=False)
    return 0
