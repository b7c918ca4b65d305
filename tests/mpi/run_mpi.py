#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs an MPI test program with the stock library and with the preload, and compares.

usage: run_mpi.py --mpi mpich|ompi --launcher PROGRAM --preload libmillrace.so [options] -- PROGRAM [ARGUMENT...]
       run_mpi.py --mpi mpich|ompi --launcher PROGRAM --run millrace [options] -- PROGRAM [ARGUMENT...]

Each run gets an empty folder as PROGRAM's last argument but those after '+'. A run has succeeded when it
printed "end" and no "FAIL" and ended with 0. Files, and the lines "pass ..." and "answer ...", must be the
same in both runs. Every run is bounded by --timeout.
"""

import argparse
import filecmp
import os
import pathlib
import re
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent / "src/front/mpiio")]
import generate  # noqa: E402
import gpu  # noqa: E402
from launch import bounded, launch, of_ranks  # noqa: E402

SKIP = gpu.SKIP


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=("mpich", "ompi"), required=True)
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--preload", default="")
    parser.add_argument("--run", default="", help="start the launcher by `millrace run` of this command")
    parser.add_argument("--ranks", default="2")
    parser.add_argument("--timeout", type=float, default=280)
    parser.add_argument("--shim", help="preloaded in both runs, if it exists")
    parser.add_argument("--before", default="", help="a tool preloaded before Millrace, and in the stock run")
    parser.add_argument("--after", default="", help="a tool preloaded after Millrace, and in the stock run")
    parser.add_argument("--env", action="append", default=[], help="NAME=VALUE for the run with Millrace")
    parser.add_argument("--alone", action="store_true", help="no stock run, nothing to compare")
    parser.add_argument("--dies", action="store_true", help="the run with Millrace must fail, by itself")
    parser.add_argument(
        "--coverage", action="store_true", help="what src/front/mpiio/table.py calls accelerated must have been so"
    )
    parser.add_argument("--accelerated", choices=("yes", "no"), help="whether any call may be accelerated")
    parser.add_argument(
        "--pipeline", default="", help="files, with commas, that must have been written through the pipeline"
    )
    parser.add_argument("--gpu", action="store_true", help="memory of a CUDA device; skipped where there is none")
    parser.add_argument("--says", default="", help="what standard error must hold")
    parser.add_argument("--same", default="(pass|answer) .*", help="lines that both runs must print alike")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.command = [word for word in options.command if word != "--"]
    return options


def run(options, folder, millrace):
    preloads = [
        options.before,
        options.shim if options.shim and os.path.exists(options.shim) and options.mpi == "mpich" else "",
        options.preload if millrace else "",
        options.after,
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE")}
    preload = ":".join(path for path in [*preloads, environment.get("LD_PRELOAD", "")] if path)
    # Usually the launcher carries the preload too, as under `millrace run`. A tool may need MPI to be there.
    tool = options.before or options.after
    if preload and not tool:
        environment["LD_PRELOAD"] = preload
    stats = folder.parent / (folder.name + ".stats")
    if millrace:
        # Small pieces take the pipeline from the first one on: these programs are over before an agent pays.
        environment.update({"TEST_MILLRACE": "1", "MILLRACE_STATS": str(stats), "MILLRACE_DIRECT_ABOVE": "16KiB"})
        environment.update(pair.split("=", 1) for pair in options.env)
        stand_in = pathlib.Path(environment.get("TEST_DRIVER", "")).parent
        if stand_in.is_absolute():  # an MPI library that loads the driver by its name must not find the real one
            places = [str(stand_in), environment.get("LD_LIBRARY_PATH", "")]
            environment["LD_LIBRARY_PATH"] = ":".join(place for place in places if place)
        environment = {name: value for name, value in environment.items() if value}
    words = [word if word != "@" else str(folder) for word in options.command]
    if "@" not in options.command:
        words.append(str(folder))
    folder.mkdir()
    if tool:
        words = ["env", f"LD_PRELOAD={preload}", *words]
    begin = [options.run, "run", "--"] if millrace and options.run else []
    command = [*begin, *launch(options.launcher, options.mpi, options.ranks), *words]
    status, out, err = bounded(command, environment, options.timeout)
    if status is None:
        sys.exit(f"no end after {options.timeout:.0f} s ({'Millrace' if millrace else 'stock'})\n{out}\n{err}")
    return status, out, err, stats


def fail(message, *texts):
    sys.exit("\n".join([f"failed: {message}", *texts]))


def check_run(options, result, who):
    code, out, err, _ = result
    lines = out.split("\n")
    if code != 0 or "end" not in lines or any(line.startswith("FAIL") for line in lines):
        fail(f"{who} run ended with {code}", out, err)


def check_same_files(stock, millrace):
    names = {path.name for path in stock.iterdir()}, {path.name for path in millrace.iterdir()}
    if names[0] != names[1]:
        fail(f"files differ: {sorted(names[0] ^ names[1])}")
    for name in sorted(names[0]):
        if not filecmp.cmp(stock / name, millrace / name, shallow=False):
            fail(f"the bytes of {name} differ")


def accelerated_calls(stats):
    calls = {}
    for one in of_ranks(stats):
        name = pathlib.Path(one["path"]).name
        calls[name] = calls.get(name, 0) + one["calls"]
    return calls


def reasons(stats):
    return [f"{one['path']}: {one['reason']}" for one in of_ranks(stats)]


def check_coverage(out, calls):
    passed = set(re.findall(r"^pass (.*)$", out, re.M))
    every = generate.functions()
    for function in every:
        if function.accelerated and function.test in passed and calls.get(function.test, 0) == 0:
            fail(f"{function.name} is said to be accelerated, but no call of test {function.test} was")
    if unknown := passed - {function.test for function in every}:
        fail(f"tests that src/front/mpiio/table.py does not name: {sorted(unknown)}")
    print(f"{len(passed)} tests of src/front/mpiio/table.py")


def check_same(options, folders, millrace):
    """Compares with the stock library. If that differs, it runs once more: once in some hundred runs, OMPIO reads
    other bytes than it has written (device.c, independent reads into memory with holes)."""

    def said(run):
        return [line for line in run[1].split("\n") if re.fullmatch(options.same, line)]

    first = None
    for name in ("stock", "stock-again"):
        stock = run(options, folders / name, False)
        check_run(options, stock, "stock")
        if said(stock) == said(millrace):
            check_same_files(folders / name, folders / "millrace")
            if first is not None:
                print("the stock library's first run said something else: " + first)
            return
        differ = [pair for pair in zip(said(stock), said(millrace), strict=False) if pair[0] != pair[1]]
        if first is not None or differ == []:
            break
        first = str(differ)
    fail("the runs did not say the same", *map(str, differ), *said(stock), *said(millrace))


def main():
    options = parse()
    if not os.path.exists(options.preload or options.run):
        print(f"skipped: {options.preload or options.run} is not built")
        return SKIP
    if options.gpu and gpu.absent():
        print(f"skipped: {gpu.absent()}")
        return SKIP
    if options.gpu:
        options.env.append(f"TEST_DRIVER={gpu.DRIVER}")
    with tempfile.TemporaryDirectory(prefix="millrace-mpi-") as temporary:
        folders = pathlib.Path(temporary)
        millrace = run(options, folders / "millrace", True)
        if options.dies:
            if millrace[0] == 0 or "FAIL" in millrace[1]:
                fail("the program did not die", millrace[1], millrace[2])
            return 0
        check_run(options, millrace, "Millrace")
        if not options.alone:
            check_same(options, folders, millrace)
        calls = accelerated_calls(millrace[3])
        if options.coverage:
            check_coverage(millrace[1], calls)
        if options.accelerated and (sum(calls.values()) > 0) != (options.accelerated == "yes"):
            fail(f"accelerated calls: {calls}")
        for name in filter(None, options.pipeline.split(",")):
            if calls.get(name, 0) == 0:
                fail(f"no call of {name} was accelerated", *reasons(millrace[3]))
        if not re.search(options.says, millrace[2]):
            fail(f"nothing like '{options.says}' on standard error", millrace[2])
        print(millrace[1], end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
