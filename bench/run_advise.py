#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Whether `millrace advise` is right: six described applications, each written by every method.

    millrace evaluate --output SESSION --target DIR --mpi mpich
    bench/run_advise.py --session SESSION --dir DIR [--turns 2]

The applications differ in pieces (some of them between those that the session measured), in bytes and in ranks. The
ranking of methods holds if no method that was advised before another took longer than it by more than --tie. Prints a
table (Markdown); status 1 if a ranking does not hold or a time is further off than --error; --json FILE has them all.
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
from millrace.tools.evaluate import advise, application  # noqa: E402
from millrace.tools.evaluate.errors import EvaluationError  # noqa: E402
from millrace.tools.evaluate.session import Session  # noqa: E402
from millrace.units import format_bytes  # noqa: E402

# Name, piece, bytes of a checkpoint, ranks: what a program's user would describe.
APPLICATIONS = (
    ("particles", "1KiB", "32MiB", 4),
    ("spectral", "2KiB", "64MiB", 4),
    ("finite elements", "4KiB", "128MiB", 8),
    ("turbulence", "8KiB", "64MiB", 2),
    ("seismic", "16KiB", "96MiB", 4),
    ("lattice", "32KiB", "64MiB", 4),
)
REPETITIONS = 7  # files of each start, as in a session: strategy auto may try both ways with the first of a series


def vary(arguments: list[str], asked: application.Application, path: str) -> list[str]:
    """A case's command line with another piece and amount; a block holds four pieces, or all of a rank's own file."""
    found = [path if word == "{file}" else word for word in arguments]
    own = "-F" in found
    block = asked.checkpoint_bytes // asked.ranks if own else 4 * asked.piece_bytes
    words = {"-t": asked.piece_bytes, "-b": block, "-i": REPETITIONS}
    words |= {} if own else {"--at-least": asked.checkpoint_bytes, "--at-most": asked.checkpoint_bytes}
    for name, value in words.items():
        found[found.index(name) + 1] = str(value)
    return found


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


def measure(
    launcher: Launcher, cases: dict[str, dict], asked: application.Application, options: argparse.Namespace
) -> dict[str, float]:
    """Median seconds of each method, in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    path = str(options.dir / "advise.data")
    for _ in range(options.turns):
        for name, case in cases.items():
            suffix = {"mpich": "mpich", "openmpi": "ompi"}[case["mpi"]]
            words = vary(case["arguments"], asked, path)
            document = launcher.run("ior", suffix, asked.ranks, words, bool(case["millrace"]))
            if document["bytes"] != asked.checkpoint_bytes:
                raise RunFailed(f"{name} wrote {document['bytes']} bytes, not {asked.checkpoint_bytes}")
            seconds[name] += [row["seconds"] for row in document["write"]["repetitions"]]
    return {name: statistics.median(values) for name, values in seconds.items()}


def judge(session: Session, asked: application.Application, measured: dict[str, float], tie: float) -> dict:
    predicted = {p.method: p.seconds for p in advise.predict(session, asked) if p.method in measured}
    return {
        "application": f"{asked.name}: {format_bytes(asked.piece_bytes)} pieces, "
        f"{format_bytes(asked.checkpoint_bytes)}, {asked.ranks} ranks",
        "predicted_s": predicted,
        "measured_s": measured,
        "ranking": ranking_holds(predicted, measured, tie),
        "error": {name: predicted[name] / measured[name] - 1 for name in predicted},
    }


def described() -> list[application.Application]:
    return [
        application.describe(
            {"name": name, "piece": piece, "checkpoint": amount, "ranks": ranks, "interval": "60s"}, name
        )
        for name, piece, amount, ranks in APPLICATIONS
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--session", type=pathlib.Path, required=True)
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="where the session measured (--target)")
    parser.add_argument("--mpi", default="mpich", choices=("mpich", "openmpi"))
    parser.add_argument("--turns", type=int, default=2)
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
        found = [judge(session, asked, measure(launcher, cases, asked, options), options.tie) for asked in described()]
    except (EvaluationError, RunFailed) as problem:
        print(f"run_advise.py: {problem}", file=sys.stderr)
        return 2
    print("| application | ranking | predicted by measured, per method |\n| --- | --- | --- |")
    for row in found:
        ratios = ", ".join(f"{name} {1 + error:.2f}" for name, error in row["error"].items())
        print(f"| {row['application']} | {'holds' if row['ranking'] else 'does not hold'} | {ratios} |")
    if options.json:
        options.json.write_text(json.dumps({"schema": "millrace-advise", "version": 1, "applications": found}) + "\n")
    wrong = [row for row in found if not row["ranking"] or max(map(abs, row["error"].values())) > options.error]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
