# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The tuning of a method: strategy, sort buffer, size and number of files, placement of ranks; each from measurements.

A sentence names the measurements that it follows from, and says so where a session has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from millrace.tools.evaluate.application import OWN, SHARED, Application
from millrace.tools.evaluate.case import OWN_FILES
from millrace.tools.evaluate.launchers import PLACEMENT
from millrace.tools.evaluate.report.story import cases_of, number
from millrace.tools.evaluate.session import Session
from millrace.units import GIB, MIB, format_bytes, human_bytes

SAME = 0.95  # rates above this part of the best count as equal
DEFAULT_BUFFER = 256 * MIB  # --sort-buffer, built in
_AGAIN = "run `millrace evaluate` of this version for it"


@dataclass(frozen=True)
class Sentence:
    """One piece of advice, and the measurements behind it."""

    topic: str
    advice: str
    why: str


class Predicted(Protocol):
    """The used part of advise.Prediction."""

    method: str
    seconds: float
    change: str


def _write(result: dict[str, Any]) -> float:
    return float(next(f["value"] for f in result["figures"] if f["name"] == "write"))


def _first_mpi(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results of the first MPI; sessions with two MPIs measure twice."""
    return [r for r in results if r["case"]["mpi"] == results[0]["case"]["mpi"]]


def strategy(session: Session, application: Application) -> Sentence:
    rows = [r for r in _first_mpi(cases_of(session, "strategy")) if r["case"]["more"]["compared"]]
    if not rows:
        return Sentence("strategy", "leave it at auto", f"no strategies were measured; {_AGAIN}")
    rates = {r["case"]["method"]: _write(r) for r in rows}
    mpi = rows[0]["case"]["mpi"]
    automatic = next(
        (
            _write(r)
            for r in cases_of(session, "shared-file")
            if r["case"]["name"] == f"ior.4KiB.millrace.{mpi}"
        ),
        None,
    )  # fmt: skip
    best = max(rates, key=lambda name: rates[name])
    more = rows[0]["case"]["more"]
    seen = ", ".join(f"{name} {number(rate)}" for name, rate in rates.items())
    why = f"{seen} MiB/s (4 KiB pieces, sort buffer {human_bytes(more['sort_buffer'])}"
    why += f" for {human_bytes(more['file_bytes'])})"
    if automatic is not None:
        why += f"; auto {number(automatic)} MiB/s with the built-in buffer"
        if automatic >= SAME * rates[best]:
            return Sentence("strategy", "leave it at auto", why)
    text = f"`--strategy {best}`"
    if best != "journal" and rates.get("journal", 0) >= SAME * rates[best]:
        text += "; journal costs next to nothing here, and keeps the bytes of returned writes if an agent dies"
    return Sentence("strategy", text, why)


def sort_buffer(session: Session, application: Application) -> Sentence:
    rows = [r for r in _first_mpi(cases_of(session, "strategy")) if r["case"]["method"] == "sort"]
    if len(rows) < 2:
        return Sentence("sort buffer", "leave it at 256MiB", f"no sort buffers were measured; {_AGAIN}")
    rows.sort(key=lambda r: r["case"]["more"]["sort_buffer"])
    best = max(map(_write, rows))
    enough = next(r["case"]["more"] for r in rows if _write(r) >= SAME * best)
    share = enough["sort_buffer"] / enough["file_bytes"]
    own = application.checkpoint_bytes / application.nodes
    needed = 1 << max(20, (round(own * share) - 1).bit_length())
    seen = ", ".join(f"{number(_write(r))} MiB/s with {human_bytes(r['case']['more']['sort_buffer'])}" for r in rows)
    why = f"{seen} for {human_bytes(enough['file_bytes'])} of a node: from {share:.0%} of the data on a larger one"
    why += f" gains nothing; here a node has {human_bytes(own)}"
    most = int(session.machine["memory"].get("total") or GIB) // 4
    if needed <= DEFAULT_BUFFER:
        return Sentence("sort buffer", "leave it at 256MiB", why)
    if needed > most:
        return Sentence(
            "sort buffer", f"`--sort-buffer {format_bytes(most // MIB * MIB)}`", f"{why}; a quarter of the memory"
        )
    return Sentence("sort buffer", f"`--sort-buffer {format_bytes(needed)}`", why)


def _own_files(session: Session) -> dict[int, float]:
    """Bytes of a rank's file -> MiB/s of all ranks, plain C."""
    found = {}
    for result in cases_of(session, "file-per-process"):
        if result["case"]["method"] == "normal" and result["case"]["pattern"] == "c":
            for figure in result["figures"]:
                action, _, size = figure["name"].partition("_")
                if action == "write" and size.endswith("m"):
                    found[int(size[:-1]) * MIB] = float(figure["value"])
    return found


def _creation(session: Session) -> tuple[float, str]:
    """Files created per second, and the name of the measurement."""
    rates = [
        (f["value"], r["case"]["name"])
        for r in cases_of(session, "metadata")
        for f in r["figures"]
        if f["name"] == "file_create"
    ]
    return max(rates, default=(float("inf"), ""))


def file_size(session: Session, application: Application, methods: Sequence[Predicted]) -> Sentence:
    """Advice on one shared file, several, or one for each rank."""
    topic, sizes = "file size", _own_files(session)
    shared = next((m for m in methods if OWN_FILES not in m.method), None)
    if not sizes or shared is None:
        return Sentence(topic, "as it is", f"files of several sizes were not measured; {_AGAIN}")

    def rate_of(size: float) -> float:
        return sizes[max((s for s in sizes if s <= size), default=min(sizes))]

    best = max(sizes.values())
    enough = min(size for size, rate in sizes.items() if rate >= SAME * best)
    creates, by = _creation(session)
    total, own = application.checkpoint_bytes, application.checkpoint_bytes / application.ranks
    several = max(1, min(application.ranks, total // enough))
    seconds = {
        "one shared file": shared.seconds,
        OWN_FILES: total / MIB / rate_of(own) + application.ranks / creates,
    }
    if 1 < several < application.ranks:
        name = f"{several} files of {human_bytes(total / several)}, each by one rank for its neighbours,"
        seconds[name] = total / MIB / rate_of(total / several) + several / creates
    first = min(seconds, key=lambda name: seconds[name])
    now = {SHARED: "one shared file", OWN: OWN_FILES}[application.layout]
    chosen = now if seconds[now] * SAME <= seconds[first] else first
    seen = ", ".join(f"{number(rate)} MiB/s in files of {human_bytes(size)}" for size, rate in sorted(sizes.items()))
    why = (
        "; ".join(f"{name} {value:.3g} s" for name, value in seconds.items()) + f" (one shared: {shared.method}; {seen}"
    )
    why += f"; {number(creates)} files made per second, {by})" if by else ")"
    text = f"keep {chosen}" if chosen == now else f"{chosen} instead of {now}"
    return Sentence(topic, f"{text}; files of at least {human_bytes(enough)} are as fast as larger ones", why)


_LAUNCHERS = {"mpich": "millrace-mpich", "openmpi": "millrace-openmpi"}


def mapping(session: Session, methods: Sequence[Predicted]) -> Sentence:
    topic = "rank mapping"
    rows = _first_mpi(cases_of(session, "mapping"))
    ready = next((m for m in methods if not m.change), methods[0])
    millrace = "Millrace" in ready.method
    rates = {r["case"]["mapping"]: _write(r) for r in rows if ("Millrace" in r["case"]["method"]) == millrace}
    if len(rates) < 2:
        return Sentence(
            topic, "as the launcher has it", "mappings are measured by profile full, on two processors or more"
        )
    case = rows[0]["case"]
    who = "Millrace" if millrace else "the MPI library"
    why = f"{', '.join(f'{name} {number(rate)} MiB/s' for name, rate in rates.items())} by {who} ({case['about']})"
    best = max(rates, key=lambda name: rates[name])
    if min(rates.values()) >= SAME * rates[best]:
        return Sentence(topic, "does not matter here", why)
    launcher = "srun" if session.document.get("scheduler") else _LAUNCHERS[case["mpi"]]
    return Sentence(topic, f"{best}: `{' '.join(PLACEMENT[launcher][best])}`", why)


def sentences(session: Session, application: Application, methods: Sequence[Predicted]) -> list[Sentence]:
    """Advice on settings of Millrace comes only where Millrace is advised."""
    found = []
    if any("Millrace" in m.method for m in methods):
        found += [strategy(session, application), sort_buffer(session, application)]
    return [*found, file_size(session, application, methods), mapping(session, methods)]
