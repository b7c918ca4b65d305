#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Measures the bars: every pattern with the stock MPI library and with Millrace in turns, beside the limit."""

from __future__ import annotations

import argparse
import pathlib
import shutil
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from bars import cases, first_run, launch, measure, report  # noqa: E402
from millrace.doctor import scheduling  # noqa: E402


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first-run", action="store_true", help="one launch and one new file for each sample, 7 pairs")
    parser.add_argument("--bars", default="2,3,4,7", help="which bars (2,3,4,7)")
    parser.add_argument("--patterns", default="*", help="patterns, with wildcards, by commas (*)")
    parser.add_argument("--mpi", default="mpich,ompi", help="which MPI libraries (mpich,ompi)")
    parser.add_argument("--ranks", default="4,16", help="numbers of ranks (4,16)")
    parser.add_argument("--sizes", default="preset", help="'preset' or a size that each file has at least, by commas")
    parser.add_argument("--at-most", default="", help="largest file, such as 64m")
    parser.add_argument("--pairs", type=int, default=0, help="pairs of runs per case (5; 3 with --quick)")
    parser.add_argument("--repetitions", type=int, default=3, help="checkpoints of every run, whose median counts (3)")
    parser.add_argument("--quick", action="store_true", help="4 ranks, files of at most 64 MiB, BT-IO class W")
    parser.add_argument("--stock-only", action="store_true", help="measure the stock library alone")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--millrace", type=pathlib.Path, help="library to preload (BUILD/lib/libmillrace.so)")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("."), help="where the files are written (.)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("bars-results"), help="folder for the results")
    parser.add_argument("--timeout", type=float, default=300, help="bound of every run in seconds (300)")
    parser.add_argument("--list", action="store_true", help="show the cases and stop")
    return parser


def numbers(parser: argparse.ArgumentParser, option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        parser.error(f"{option}: '{text}' is not a list of whole numbers")


def selection(parser: argparse.ArgumentParser, options: argparse.Namespace) -> cases.Selection:
    mpis = options.mpi.split(",")
    if set(mpis) - {"mpich", "ompi"}:
        parser.error(f"--mpi: there is mpich and ompi, not '{options.mpi}'")
    bars = {1} if options.first_run else set(numbers(parser, "--bars", options.bars))
    if not options.first_run and bars - {2, 3, 4, 7}:
        parser.error("--bars: this program measures 2, 3, 4 and 7")
    ranks = [4] if options.quick else numbers(parser, "--ranks", options.ranks)
    at_most = options.at_most or ("64m" if options.quick else "")
    return cases.Selection(
        bars, mpis, ranks, options.patterns.split(","), options.sizes.split(","), at_most, options.quick
    )


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    options.millrace = (options.millrace or options.build / "lib" / "libmillrace.so").absolute()
    options.build = options.build.absolute()
    if not options.stock_only and not options.millrace.exists():
        parser.error(f"{options.millrace} is missing: build it, or measure with --stock-only")
    if not (options.build / "bin" / "bench" / "limit").exists():
        parser.error(f"{options.build} holds no bin/bench/limit: build the benchmarks first")
    if not options.dir.is_dir():
        parser.error(f"--dir: {options.dir} is not a folder")
    if shutil.disk_usage(options.dir).free < 5 << 30:
        print("run_bars: less than 5 GiB are free in --dir; large cases may fail", file=sys.stderr)


def tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    if options.first_run:
        parser.set_defaults(bars="", pairs=7, repetitions=1)
        options = parser.parse_args()
    chosen = (first_run if options.first_run else cases).select(selection(parser, options))
    if options.list:
        for case in chosen:
            print(case.name, case.program, " ".join(case.arguments))
        return 0
    check(parser, options)
    if not chosen:
        parser.error("no case is left: see --list")
    options.pairs = options.pairs or (3 if options.quick else 5)
    # Whoever ends this program also wants the run that it has started to end, and its files to go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with scheduling.one_group() as group:
        return run_all(options, chosen, launch.Launcher(options.build, options.millrace, options.timeout, group))


def run_all(options: argparse.Namespace, chosen: list[cases.Case], launcher: launch.Launcher) -> int:
    about = report.machine(options.dir)
    recorded = {key: str(value) if isinstance(value, pathlib.Path) else value for key, value in vars(options).items()}
    results: list[measure.Result] = []
    print("| " + " | ".join(report.HEADINGS) + " |")
    begin = time.monotonic()
    for case in chosen:
        if not launcher.has(case.program, case.mpi):
            print(f"run_bars: {case.name}: {case.program}-{case.mpi} is not built", file=sys.stderr)
            continue
        directory = options.dir.absolute()
        results.append(
            measure.measure(case, launcher, directory, options.pairs, options.repetitions, options.stock_only, tell)
        )
        tell("")
        print(report.row(results[-1]), flush=True)
        # After every case, so that an interrupted run has not been for nothing.
        report.write(options.out, report.document(results, about, recorded), results)
    print(f"{len(results)} cases in {time.monotonic() - begin:.0f} s; {options.out}/bars.md and bars.json")
    return 0 if results and all(r.verdict in ("pass", "stock only") for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
