#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Whether `millrace advise` is right: six described applications, each written by every method.

    millrace evaluate --output SESSION --target DIR --mpi mpich
    bench/run_advise.py --session SESSION --dir DIR [--turns 5]

The applications differ in their pieces, some of them between those that the session measured. The ranking of methods
holds if no method that was advised before another took longer than it by more than --tie. Prints a table (Markdown);
status 1 if a ranking does not hold or a time is further off than --error; --json FILE has every figure.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "python"))

from bars.launch import Launcher, RunFailed  # noqa: E402
from millrace.evaluate import advise, application  # noqa: E402
from millrace.evaluate.errors import EvaluationError  # noqa: E402
from millrace.evaluate.session import Session  # noqa: E402
from millrace.units import format_bytes, parse_bytes  # noqa: E402

PIECES = ("1KiB", "2KiB", "4KiB", "8KiB", "16KiB", "32KiB")


def vary(arguments: list[str], piece: int, path: str, repetitions: int) -> list[str]:
    """A case's command line with another piece; a block holds four, as in the case of 4 KiB, or stays as it was."""
    found = [path if word == "{file}" else word for word in arguments]
    found[found.index("-t") + 1] = str(piece)
    found[found.index("-i") + 1] = str(repetitions)
    if "-F" not in found:
        found[found.index("-b") + 1] = str(4 * piece)
    return found


def bytes_of(arguments: list[str], ranks: int) -> int:
    if "-F" in arguments:
        return parse_bytes(arguments[arguments.index("-b") + 1]) * ranks
    return parse_bytes(arguments[arguments.index("--at-least") + 1])


def ranking_holds(predicted: dict[str, float], measured: dict[str, float], tie: float) -> bool:
    """Seconds of each method: whether what was to be faster was, but for ties."""
    order = sorted(predicted, key=lambda name: predicted[name])
    return all(
        measured[first] <= (1 + tie) * measured[later] for i, first in enumerate(order) for later in order[i + 1 :]
    )


def methods_of(session: Session, mpi: str) -> dict[str, dict]:
    """Method -> a case of it, with pieces of 4 KiB where there is a choice."""
    found: dict[str, dict] = {}
    for result in session.results():
        case = result["case"]
        if case["section"] == "shared-file" and case["mpi"] == mpi and result["status"] == "passed":
            name = case["method"] + (f" ({mpi})" if len(session.document.get("mpis", [])) > 1 else "")
            if name not in found or case["pattern"] == "4 KiB":
                found[name] = case
    return found


def measure(launcher: Launcher, cases: dict[str, dict], piece: int, options: argparse.Namespace) -> dict[str, float]:
    """Median MiB/s of each method, in turns."""
    rates: dict[str, list[float]] = {name: [] for name in cases}
    path = str(options.dir / "advise.data")
    for _ in range(options.turns):
        for name, case in cases.items():
            words = vary(case["arguments"], piece, path, 1)
            suffix = {"mpich": "mpich", "openmpi": "ompi"}[case["mpi"]]
            document = launcher.run("ior", suffix, case["ranks"], words, bool(case["millrace"]))
            rates[name].append(document["write"]["median_mib_s"])
    return {name: statistics.median(values) for name, values in rates.items()}


def judge(session: Session, piece: str, rates: dict[str, float], cases: dict[str, dict], tie: float) -> dict:
    case = next(iter(cases.values()))
    size = max(bytes_of(list(c["arguments"]), c["ranks"]) for c in cases.values())
    words = {"name": piece, "ranks": case["ranks"], "checkpoint": str(size), "piece": piece, "interval": "60s"}
    asked = application.describe(words, piece)
    predicted = {p.method: p.seconds for p in advise.predict(session, asked) if p.method in rates}
    measured = {name: size / (1 << 20) / rate for name, rate in rates.items()}
    return {
        "piece": format_bytes(asked.piece_bytes),
        "predicted_s": predicted,
        "measured_s": measured,
        "ranking": ranking_holds(predicted, measured, tie),
        "error": {name: predicted[name] / measured[name] - 1 for name in predicted},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--session", type=pathlib.Path, required=True)
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="where the session measured (--target)")
    parser.add_argument("--mpi", default="mpich", choices=("mpich", "openmpi"))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--tie", type=float, default=0.1)
    parser.add_argument("--error", type=float, default=0.25)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.absolute()
    launcher = Launcher(build, build / "lib" / "libmillrace.so", options.timeout)
    try:
        session = Session.open(options.session)
        cases = methods_of(session, options.mpi)
        if len(cases) < 2:
            raise EvaluationError(f"{options.session} has no methods to compare for {options.mpi}")
        found = [
            judge(session, piece, measure(launcher, cases, parse_bytes(piece), options), cases, options.tie)
            for piece in PIECES
        ]
    except (EvaluationError, RunFailed) as problem:
        print(f"run_advise.py: {problem}", file=sys.stderr)
        return 2
    print("| piece | ranking | predicted by measured, per method |\n| --- | --- | --- |")
    for row in found:
        ratios = ", ".join(f"{name} {1 + error:.2f}" for name, error in row["error"].items())
        print(f"| {row['piece']} | {'holds' if row['ranking'] else 'does not hold'} | {ratios} |")
    if options.json:
        options.json.write_text(json.dumps({"schema": "millrace-advise", "version": 1, "applications": found}) + "\n")
    wrong = [row for row in found if not row["ranking"] or max(map(abs, row["error"].values())) > options.error]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
