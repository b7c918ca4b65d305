# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one case on both sides, alternating, and compares files and times."""

from __future__ import annotations

import filecmp
import json
import mmap
import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millrace import scheduling, stats
from millrace.demo import cases
from millrace.prefix import Prefix

STOCK, MILLRACE = "stock", "millrace"
_RUN_BOUND_S = 120
_WARM_BYTES = 256 << 20
_PAGE = 4096


@dataclass
class Run:
    """One run of one side."""

    side: str
    seconds: float
    bytes: int
    report: stats.FileReport | None = None


@dataclass
class Result:
    """The result of a case."""

    case: cases.Case
    pairs: list[tuple[Run, Run]] = field(default_factory=list)
    identical: bool | None = None  # None: not compared
    error: str = ""

    @property
    def ratio(self) -> float | None:
        """Median over the pairs of stock's time divided by Millrace's; above 1 = Millrace is faster."""
        if not self.pairs:
            return None
        return statistics.median(stock.seconds / ours.seconds for stock, ours in self.pairs)

    def rate(self, side: int) -> float | None:
        """Median MiB/s of stock (0) or Millrace (1)."""
        if not self.pairs:
            return None
        return statistics.median(pair[side].bytes / pair[side].seconds / (1 << 20) for pair in self.pairs)

    def route(self) -> str:
        """The way that Millrace took, from its own report."""
        report = self.pairs[-1][1].report if self.pairs else None
        if report is None:
            return "no report" if self.pairs else ""
        reasons = report.reasons(numbers=False)
        if report.route != "direct" or not reasons:
            return report.route
        return f"direct: {reasons[0].removeprefix('direct: ')}"

    def document(self) -> dict[str, Any]:
        report = self.pairs[-1][1].report if self.pairs else None
        return {
            "name": self.case.name,
            "about": self.case.about,
            "mpi": self.case.family,
            "ranks": self.case.ranks,
            "skipped": self.case.missing or None,
            "error": self.error or None,
            "identical": self.identical,
            "ratio": self.ratio,
            "stock_mib_s": self.rate(0),
            "millrace_mib_s": self.rate(1),
            "pairs_s": [[a.seconds, b.seconds] for a, b in self.pairs],
            "route": self.route(),
            "whole_program": self.case.whole,
            "report": report.summary() if report else None,
        }


class RunFailed(RuntimeError):
    """A program ended with an error, or did not end in time."""


def measured(output: str) -> tuple[float, int] | None:
    """Seconds of the writing and its bytes, from the JSON that a program printed."""
    begin = output.find("{")
    if begin < 0:
        return None
    try:
        document, _ = json.JSONDecoder().raw_decode(output[begin:])
    except json.JSONDecodeError:
        return None
    size = int(document.get("bytes", 0))
    if "seconds" in document:
        return float(document["seconds"]), size
    repetitions = document.get("repetitions") or document.get("write", {}).get("repetitions")
    if not repetitions:
        return None
    first = repetitions[0]
    return float(first["seconds"] if "seconds" in first else first["io_s"]), size


def _environment(case: cases.Case, prefix: Prefix, reports: Path | None) -> dict[str, str]:
    """The same variables for both sides, except Millrace's own."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MILLRACE") and name != "LD_PRELOAD"
    }
    shim = prefix.shared_object("libmillrace-bench-yield.so")
    if case.family == "mpich" and os.path.isfile(shim):
        environment["LD_PRELOAD"] = shim
    if reports is not None:
        environment["MILLRACE_PREFIX"] = prefix.root
        environment["MILLRACE_STATS"] = str(reports)
    return environment


def _warm() -> None:
    """Touches and frees memory, so that the first touch is not counted for one side only.

    In small pages and in huge ones: the page cache is made of either, as large as a program's writes are.
    """
    with mmap.mmap(-1, _WARM_BYTES) as small, mmap.mmap(-1, _WARM_BYTES) as huge:
        if hasattr(mmap, "MADV_HUGEPAGE"):
            small.madvise(mmap.MADV_NOHUGEPAGE)
            huge.madvise(mmap.MADV_HUGEPAGE)
        for area in (small, huge):
            area[::_PAGE] = b"\1" * (len(area) // _PAGE)


def _execute(
    command: list[str], environment: dict[str, str], group: Path | None, bound_s: float = _RUN_BOUND_S
) -> tuple[str, float]:
    """Returns stdout and the elapsed seconds. Ends the program after the time limit."""
    begin = time.monotonic()
    with subprocess.Popen(
        scheduling.wrap(group, command),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        try:
            output, errors = child.communicate(timeout=bound_s)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)  # the launcher ends its ranks
            try:
                child.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
            raise RunFailed(f"no end after {bound_s:.0f} s") from None
    elapsed = time.monotonic() - begin
    if child.returncode != 0:
        last = [line for line in (errors or output).splitlines() if line.strip()][-3:]
        raise RunFailed(f"exit status {child.returncode}: {' / '.join(last)}")
    return output, elapsed


def _read_report(path: Path, file: Path, job: str) -> stats.FileReport | None:
    stats.wait_for_agents(job)
    if not path.exists():
        return None
    report = None
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        document = stats.parse_line(line)
        if document is None or Path(str(document["path"])).name != file.name:
            continue
        report = report or stats.FileReport(str(document["path"]))
        (report.agents if document.get("kind") == stats.AGENT_KIND else report.clients).append(document)
    return report


def one(case: cases.Case, side: str, file: Path, prefix: Prefix, group: Path | None) -> Run:
    """Runs `case` once; the file stays for the comparison."""
    file.unlink(missing_ok=True)
    reports = file.with_suffix(".reports") if side == MILLRACE else None
    environment = _environment(case, prefix, reports)
    command = cases.launch(case, file)
    job = ""
    if side == MILLRACE:
        job = f"demo-{os.getpid()}-{time.monotonic_ns()}"
        environment["MILLRACE_JOB"] = job
        # As bin/millrace does. The package need not be installed to run itself, and the program must not see where it
        # lies.
        package = str(Path(__file__).resolve().parents[2])
        start = f"import sys; sys.path.insert(0, {package!r}); from millrace.__main__ import main; main()"
        command = [sys.executable, "-S", "-c", start, "run", "--", *command]
    os.sync()
    _warm()
    output, elapsed = _execute(command, environment, group)
    figures = (elapsed, file.stat().st_size if file.exists() else 0) if case.whole else measured(output)
    if figures is None:
        raise RunFailed("printed no figures")
    report = None
    if reports is not None:
        report = _read_report(reports, file, job)
        reports.unlink(missing_ok=True)
    return Run(side, figures[0], figures[1], report)


def pair(result: Result, work: Path, prefix: Prefix, first: str, group: Path | None) -> None:
    """One run of each side, `first` first; compares their files."""
    runs = {}
    files = {side: work / side / "demo.dat" for side in (STOCK, MILLRACE)}
    try:
        for side in (first, MILLRACE if first == STOCK else STOCK):
            files[side].parent.mkdir(exist_ok=True)
            runs[side] = one(result.case, side, files[side], prefix, group)
        missing = [side for side, path in files.items() if not path.exists()]
        if missing:
            raise RunFailed(f"left no file ({', '.join(missing)})")
        same = filecmp.cmp(files[STOCK], files[MILLRACE], shallow=False)
        result.identical = same and result.identical is not False
        result.pairs.append((runs[STOCK], runs[MILLRACE]))
    except (RunFailed, OSError) as error:
        result.error = f"{error} (after {' and '.join(runs) or 'no side'} ended well)"
    finally:
        for path in files.values():
            path.unlink(missing_ok=True)
