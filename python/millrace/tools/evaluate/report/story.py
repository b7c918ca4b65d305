# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The content of the first page: ten figures, the machine's weakest point in words, and the best I/O method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.tools.evaluate import hpcc
from millrace.tools.evaluate.case import OWN_FILES
from millrace.tools.evaluate.session import PASSED, Session

Figures = Mapping[str, Mapping[str, Any]]
_NO_GAIN = 1.05  # a smaller gain is not worth a change of the program
_DOUBTFUL = 110  # a higher percentage of a limit is doubtful


@dataclass(frozen=True)
class Card:
    """One of the ten figures; if there is no value, it has the reason."""

    title: str
    value: float | None
    unit: str
    percent: float | None = None
    note: str = ""  # "of ...": the reference of the percentage
    usual: float = 100  # percent of the limit that other machines reach

    @property
    def low(self) -> bool:
        return self.percent is not None and self.percent < self.usual / 2

    def words(self) -> str:
        """The text below the figure."""
        if self.percent is None:
            return self.note
        share = f"{self.percent:.0f}" if self.percent >= 9.95 else f"{self.percent:.1f}"
        text = f"{share} % {self.note}" if self.note.startswith("of ") else f"{share} % of its limit; {self.note}"
        return text if self.percent <= _DOUBTFUL else f"{text}: caches, or a limit that other work disturbed"


@dataclass(frozen=True)
class Weakness:
    """A figure that is further below its limit than on published machines."""

    what: str
    percent: float
    of: str
    typical: float  # usual percentage of the limit
    source: str
    remedy: str

    @property
    def score(self) -> float:
        return self.percent / self.typical


@dataclass(frozen=True)
class Choice:
    """The methods of one access pattern, best first, as (method, case, MiB/s, percent of the limit)."""

    pattern: str
    rows: tuple[tuple[str, str, float, float | None], ...]

    @property
    def best(self) -> tuple[str, str, float, float | None]:
        return self.rows[0]

    def stock(self) -> tuple[str, str, float, float | None] | None:
        """The best method without Millrace and without a change of the program's files."""
        return next((row for row in self.rows if "Millrace" not in row[0] and "POSIX" not in row[0]), None)

    def advised(self) -> tuple[str, str, float, float | None]:
        stock = self.stock()
        return stock if stock and stock[2] * _NO_GAIN > self.best[2] else self.best


def number(value: float) -> str:
    """The number with three or four digits."""
    if value >= 1000:
        step = 10 ** max(0, len(f"{value:.0f}") - 4)
        return f"{round(value / step) * step:,.0f}".replace(",", "\u202f")
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cases_of(session: Session, section: str) -> list[dict[str, Any]]:
    return [r for r in session.results() if r["case"]["section"] == section and r["status"] == PASSED]


def largest_mdtest(session: Session) -> dict[str, Any] | None:
    """MDTEST's run with the most ranks."""
    found = [r for r in cases_of(session, "metadata") if r["case"]["program"] == "mdtest"]
    return max(found, key=lambda r: r["case"]["ranks"], default=None)


def choices(session: Session) -> list[Choice]:
    """The results of each method, for each pattern of one shared file."""
    found: dict[str, list[tuple[str, str, float, float | None]]] = {}
    for result in cases_of(session, "shared-file") + cases_of(session, "checkpoint"):
        case, figure = result["case"], next(f for f in result["figures"] if f["name"] == "write")
        if case["method"] == OWN_FILES:
            continue
        mpi = f" ({case['mpi']})" if len(session.document.get("mpis", [])) > 1 else ""
        row = (case["method"] + mpi, case["name"], figure["value"], figure["percent_of_limit"])
        found.setdefault(case["pattern"], []).append(row)
    return [Choice(pattern, tuple(sorted(rows, key=lambda r: -r[2]))) for pattern, rows in found.items()]


def finest(session: Session) -> Choice | None:
    """The pattern with the smallest pieces, where methods differ most."""
    shared = [c for c in choices(session) if not c.pattern.startswith("BT-IO")]
    return shared[-1] if shared else None


def _card(session: Session, title: str, key: str, unit: str = "", note: str = "", usual: float = 100) -> Card:
    figure = session.figures().get(key)
    if figure is None:
        result = session.result(key.split(":")[0])
        return Card(title, None, unit, None, result["status"] if result else "not measured")
    return Card(title, figure["value"], unit or figure["unit"], figure.get("percent_of_limit"), note, usual)


def _reached(rows: Sequence[tuple[str, str, float, float | None]], title: str, millrace: bool) -> Card:
    for method, _, value, percent in rows:
        if ("Millrace" in method) == millrace:
            return Card(title, value, "MiB/s", percent, f"of one stream; {method}")
    return Card(title, None, "MiB/s", None, "not measured")


def cards(session: Session) -> list[Card]:
    """The ten figures that matter, in the order of the machine: processor, memory, network, storage, methods."""
    figures = session.figures()
    fine = finest(session)
    rows = fine.rows if fine else ()
    where = fine.pattern if fine else "small"
    files = next((key for key in figures if key.startswith("mdtest.1.") and key.endswith(":file_create")), "")
    fifth = _card(session, "STREAM triad (hpcc)", "hpcc:stream_triad", note="of the memory's best")
    if files:
        fifth = _card(session, "File creation", files, "/s", note="of plain system calls; one process")
    usual = {key: share for key, _, _, share, _ in _USUAL}
    return [
        _card(session, "Peak, multiply-and-add", "limit.flops:peak", note="measured, all processors"),
        _card(session, "HPL", "hpcc:hpl", note="of the peak", usual=usual["hpcc:hpl"]),
        _card(
            session,
            "FFT (MPIFFT)",
            "hpcc:fft",
            note=f"of the peak; {usual['hpcc:fft']} % is usual",
            usual=usual["hpcc:fft"],
        ),
        _card(session, "Memory, triad", "limit.memory:triad", note=_per_flop(figures)),
        fifth,
        _card(session, "MPI latency", "limit.link:latency", "\u00b5s", "8 bytes, one way"),
        _card(session, "MPI bandwidth", "limit.link:bandwidth", note="one pair of ranks"),
        _card(session, "Storage, one stream", "limit.storage:write", note="new file, with fsync"),
        _reached(rows, f"{where} writes, stock", False),
        _reached(rows, f"{where} writes, Millrace", True),
    ]


def _per_flop(figures: Figures) -> str:
    triad, peak = figures.get("limit.memory:triad"), figures.get("limit.flops:peak")
    if not triad or not peak or not peak["value"]:
        return ""
    return f"{triad['value'] / peak['value']:.2f} bytes per FLOP"


_OAKLEAF = "Oakleaf-FX"
# Figure -> its name, its limit, the usual percentage, the source of the percentage.
_USUAL = (
    ("hpcc:stream_triad", "STREAM triad", "the memory's best", 90.0, "this suite's own loops"),
    ("hpcc:dgemm", "DGEMM", "the measured peak", 85.0, "HPL's own needs"),
    ("hpcc:hpl", "HPL", "the measured peak", 85.0, f"85 to 92 % on Yayoi and {_OAKLEAF}"),
    ("hpcc:fft", "MPIFFT", "the measured peak", 1.6, f"1.6 to 1.9 % on {_OAKLEAF} and Yayoi"),
)


def _of_processors(session: Session, figures: Figures) -> list[Weakness]:
    library = str(session.machine["software"].get("blas", ""))
    slow = not hpcc.is_fast(library)
    advice = {
        "hpcc:dgemm": f"the BLAS in use is {library}, a reference implementation: install OpenBLAS or the vendor's."
        if slow
        else "a larger matrix (profile full) and a BLAS tuned for this processor help.",
        "hpcc:stream_triad": "its arrays may fit the caches, or its compiler uses no streaming stores.",
        "hpcc:fft": "all-to-all messages dominate: look at the MPI library and at how ranks are placed.",
    }
    advice["hpcc:hpl"] = advice["hpcc:dgemm"]
    found = []
    for key, what, of, usual, source in _USUAL:
        percent = (figures.get(key) or {}).get("percent_of_limit")
        if percent is not None:
            found.append(Weakness(what, percent, of, usual, source, advice[key]))
    return found


def _of_files(session: Session) -> list[Weakness]:
    found = []
    for choice in choices(session):
        stock = choice.stock()
        if stock is None or stock[3] is None:
            continue
        method, _, value, percent = stock
        best = choice.best
        if best[2] > 1.1 * value:
            remedy = f"{best[0]} writes the same at {number(best[2])} MiB/s, {best[2] / value:.1f} times as fast."
        else:
            remedy = "no other method that was measured is better: larger pieces per call are."
        name = choice.pattern if choice.pattern.startswith("BT-IO") else f"{choice.pattern} pieces"
        what = f"writing one shared file in {name} by {method}"
        found.append(Weakness(what, percent, "what one sequential stream gets from the storage", 90.0, "bars", remedy))
    return found


def _of_messages(session: Session, figures: Figures) -> list[Weakness]:
    link, copy = figures.get("limit.link:bandwidth"), figures.get("limit.memory-one:copy")
    if not link or not copy or session.document.get("scheduler"):
        return []
    percent = 100 * link["value"] * (1 << 20) / (copy["value"] / 2 * 1e9)
    remedy = "more ranks than processors, or no single-copy messages (CMA, KNEM, XPMEM): look at the MPI's settings."
    return [Weakness("MPI between two ranks of a node", percent, "a copy in memory", 50.0, "two copies", remedy)]


def weaknesses(session: Session) -> list[Weakness]:
    """The weaknesses, the worst first: the part of the limit compared with the usual part."""
    figures = session.figures()
    found = _of_processors(session, figures) + _of_files(session) + _of_messages(session, figures)
    return sorted(found, key=lambda weakness: weakness.score)


def weakest(session: Session) -> str:
    """The machine's weakest point, in words."""
    found = weaknesses(session)
    if not found:
        return "Too little was measured to name a weakest point."
    worst = found[0]
    if worst.score > 0.9:
        return f"No weak point stands out: the lowest, {worst.what}, reaches {worst.percent:.0f} % of {worst.of}."
    amount = f"{worst.percent:.0f}" if worst.percent >= 10 else f"{worst.percent:.1f}"
    usual = f"{worst.typical:.0f}" if worst.typical >= 10 else f"{worst.typical:.1f}"
    begin = worst.what[0].upper() + worst.what[1:]
    return f"{begin} reaches only {amount} % of {worst.of}, where about {usual} % is usual; {worst.remedy}"


def gain(choice: Choice) -> str:
    """The best method compared with the best of the MPI library."""
    stock, best = choice.stock(), choice.advised()
    if stock is None:
        return ""
    return "as good as it gets" if stock[1] == best[1] else f"{best[2] / stock[2]:.1f} times {stock[0]}"


def method_advice(session: Session) -> list[tuple[str, str, str]]:
    """The best I/O method for each pattern, from measurements: pattern, method and its rate, gain.

    The MPI library as it is, where no other is faster by more than the noise of a few files.
    """
    return [
        (choice.pattern, f"{row[0]}, {number(row[2])} MiB/s", gain(choice))
        for choice in choices(session)
        if len(choice.rows) > 1
        for row in [choice.advised()]
    ]
