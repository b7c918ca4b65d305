#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what the SX-Aurora TSUBASA papers do: file per process, transfers, and between processes."""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import shlex
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import device  # noqa: E402, F401  (the places of the modules below)
from bars.launch import Launcher  # noqa: E402
from bars.report import machine  # noqa: E402
from catwalk.draw import available  # noqa: E402
from device import draw, measure, peers, plan, report, statements  # noqa: E402
from millrace.doctor import scheduling  # noqa: E402


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default=",".join(plan.PARTS), help=f"which: {','.join(plan.PARTS)} (all)")
    parser.add_argument("--languages", default=",".join(plan.LANGUAGES), help="c,fortran")
    parser.add_argument("--buffers", default=",".join(plan.BUFFERS), help="of the language's library (512k,8k)")
    parser.add_argument("--ranks", default=",".join(map(str, plan.RANKS)), help="as many as fit of 1,2,4,8,16,24,32,64")
    parser.add_argument(
        "--sizes", default=",".join(map(str, plan.SIZES_MIB)), help="MiB of each rank, as far as they fit"
    )
    disk_sizes = ",".join(map(str, plan.DISK_SIZES_MIB))
    parser.add_argument("--disk-sizes", default=disk_sizes, help="the same, of the part 'disk' (1,64,256,1024)")
    parser.add_argument("--at-most", type=int, default=4096, help="MiB of all ranks together (4096)")
    parser.add_argument("--repetitions", type=int, default=5, help="of each size in a round (5)")
    parser.add_argument("--rounds", type=int, default=2, help="in which methods take turns (2)")
    parser.add_argument("--minutes", type=float, default=25, help="nothing starts after this (25)")
    parser.add_argument("--mpi", default="mpich", choices=["mpich", "ompi"], help="(mpich)")
    parser.add_argument("--preload", help="the library that accelerates (lib/libmillrace_posix.so of the build)")
    parser.add_argument(
        "--library", help="of the C API, for api, requests and offload (libmillrace_io.so of the build)"
    )
    parser.add_argument("--driver", default="libcuda.so.1", help="the device driver's library (libcuda.so.1)")
    parser.add_argument("--lmbench", default="", help="folder with bw_pipe and lat_pipe, to compare with")
    parser.add_argument(
        "--ipc-bench", default="", help="folder of ipc-bench's programs (build/source), to compare with"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see whether it works")
    parser.add_argument("--format", default="png", choices=["png", "svg"], help="of the figures (png)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build", help="where files are written (build)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("device-results"), help="folder for results")
    parser.add_argument("--timeout", type=float, default=300, help="bound of every run in seconds (300)")
    parser.add_argument("--list", action="store_true", help="show what would be run and stop")
    return parser


def _numbers(parser: argparse.ArgumentParser, name: str, text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        parser.error(f"{name}: '{text}' is not a list of whole numbers")
    if numbers[0] < 1:
        parser.error(f"{name}: from 1 on")
    return numbers


def _names(parser: argparse.ArgumentParser, name: str, text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(text.split(","))
    if set(found) - set(known):
        parser.error(f"{name}: there is {', '.join(known)}, not '{text}'")
    return found


def _library(parser: argparse.ArgumentParser, name: str, given: str | None, usual: pathlib.Path) -> str:
    """Empty: there is none, and none was asked for."""
    if given is None:
        return str(usual) if usual.exists() else ""
    if given and not pathlib.Path(given).exists():
        parser.error(f"{name}: there is no {given}")
    return given and str(pathlib.Path(given).absolute())


def wishes(parser: argparse.ArgumentParser, options: argparse.Namespace) -> plan.Wishes:
    options.preload = _library(parser, "--preload", options.preload, options.build / "lib/libmillrace_posix.so")
    options.library = _library(parser, "--library", options.library, options.build / "lib/libmillrace_io.so")
    return plan.Wishes(
        _names(parser, "--parts", options.parts, plan.PARTS),
        _names(parser, "--languages", options.languages, plan.LANGUAGES),
        _names(parser, "--buffers", options.buffers, plan.BUFFERS),
        _numbers(parser, "--ranks", options.ranks),
        _numbers(parser, "--sizes", options.sizes),
        _numbers(parser, "--disk-sizes", options.disk_sizes),
        options.repetitions,
        options.preload,
        options.library,
        options.driver,
        options.quick,
    )


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    options.build, options.dir = options.build.absolute(), options.dir.absolute()
    for program in (f"ipc-{options.mpi}", f"fpp-{options.mpi}", "transfer", "limit"):
        if not (options.build / "bin/bench" / program).exists():
            parser.error(f"{options.build} holds no bin/bench/{program}: build the benchmarks first")
    if not options.dir.is_dir():
        parser.error(f"--dir: {options.dir} is not a folder")


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    if options.quick:  # unless something else is said
        parser.set_defaults(repetitions=1, rounds=1, sizes="1,8", disk_sizes="1,8", ranks="1,2")
        options = parser.parse_args()
    check(parser, options)
    wanted = wishes(parser, options)
    room = plan.Room.here(options.dir, options.at_most << 20)
    points = plan.points(wanted, room)
    if options.list:
        print(*(f"{point.name}: {shlex.join(point.arguments)}" for point in points), sep="\n")
        return 0
    begin = time.monotonic()
    with scheduling.one_group() as group, tempfile.TemporaryDirectory(prefix="device-", dir=options.dir) as folder:
        launcher = Launcher(options.build, pathlib.Path("none"), options.timeout, group)
        driver = measure.Driver(launcher, options.mpi, pathlib.Path(folder), options.rounds, options.minutes)
        driver.limit(plan.totals(wanted, points, room), options.repetitions)
        measured = driver.run(points)
        compared = []
        if "ipc" in wanted.parts and not driver.out_of_time("other tools"):
            compared = peers.compare(launcher, options.mpi, options.lmbench, options.ipc_bench)
    results = measure.Results(measured, driver.limits)
    stated = statements.statements(results, compared, wanted.preload)
    about = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "machine": machine(options.dir),
        "options": {k: str(v) if isinstance(v, pathlib.Path) else v for k, v in vars(options).items()},
        "not_run": driver.left,
        "published": json.loads((ROOT / "bench/device/published.json").read_text()),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    reason = available()
    figures = [] if reason else draw.draw(options.out, results, about["published"], options.format)
    document = report.to_json(about, results, stated, compared)
    report.write(options.out, document, report.markdown(document, results, stated, compared, [f.name for f in figures]))
    print(*(one.line() for one in stated), sep="\n")
    print(reason or f"drawn: {', '.join(path.name for path in figures)}")
    print(f"{len(measured)} points in {time.monotonic() - begin:.0f} s; {options.out}/device.md, device.json")
    absent = ("no device", measure.NO_TIME, measure.ONE_DEVICE)
    return 1 if any(one.problem and not one.problem.startswith(absent) for one in measured) else 0


if __name__ == "__main__":
    sys.exit(main())
