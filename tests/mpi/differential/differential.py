#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs random cases with the stock MPI library and with the preload, and compares files and digests.

usage: differential.py --mpi mpich|ompi --launcher PROGRAM --program differential_MPI [--preload libmillrace.so]
                       [--first SEED] [--cases N] [--set NAME=VALUE ...] [--self-test]
                       [--cluster NAME --per-node N | --across] [--folder PATH]

Without --preload both runs are stock: the program must then agree with itself. --self-test makes one write of
a stock run wrong and succeeds if exactly that case is found.
"""

import argparse
import filecmp
import os
import pathlib
import random
import shlex
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from launch import bounded, launch, of_ranks  # noqa: E402

SKIP = 77


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpi", choices=("mpich", "ompi"), required=True)
    parser.add_argument("--launcher", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--preload", default="")
    parser.add_argument("--shim", default="", help="preloaded in both runs, if it exists (MPICH)")
    parser.add_argument("--ranks", type=int, default=0, help="of every launch; 0: 2 to 6, by seed")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--chunk", type=int, default=20, help="cases per launch, with the same settings")
    parser.add_argument("--timeout", type=float, default=400, help="seconds per launch")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE instead of random settings")
    parser.add_argument("--also", action="append", default=[], help="NAME=VALUE beside random settings")
    parser.add_argument("--cluster", default="", help="a virtual cluster that is up: the launches run across its nodes")
    parser.add_argument("--per-node", type=int, default=2, help="ranks of a node, with --cluster")
    parser.add_argument("--across", action="store_true", help="the launcher starts ranks on several nodes by itself")
    parser.add_argument("--folder", help="where the files are; with --cluster, one that all nodes see")
    parser.add_argument("--stock-may-fail", action="store_true", help="leave out launches that fail without Millrace")
    parser.add_argument("--left", action="store_true", help="all calls must be left to the MPI library")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    return parser.parse_args()


def settings_of(options, first):
    """Settings by the first seed of a launch: small buffers, so that they are full all the time."""
    if options.set:
        return dict(pair.split("=", 1) for pair in options.set + options.also)
    dice = random.Random(first)
    return {
        "MILLRACE_STRATEGY": dice.choice(["auto", "immediate", "sort", "sort", "journal"]),
        "MILLRACE_MERGE": dice.choice(["0", "1"]),
        "MILLRACE_SORT_BUFFER": dice.choice(["1MiB", "1MiB", "4MiB", "64MiB"]),
        # Mostly everything through the pipeline, whatever its size.
        "MILLRACE_DIRECT_ABOVE": dice.choice(["1GiB", "1GiB", "8KiB", "auto"]),
        **dict(pair.split("=", 1) for pair in options.also),
    }


def ranks_of(options, first):
    # A case uses some of them. Few launches with many: they are slow where ranks share cores.
    return options.ranks or random.Random(-first).choice([2, 3, 3, 4, 4, 6])


def millrace(*words):
    return [sys.executable, "-m", "millrace", *words]


def command_of(options, ranks, preload):
    """The words before the program, and the libraries to preload here. Across nodes `millrace run` preloads ours."""
    shim = options.shim if options.mpi == "mpich" and os.path.exists(options.shim) else ""
    words = launch(options.launcher, options.mpi, ranks)
    if not options.cluster and not options.across:
        return words, [path for path in (shim, preload) if path]
    if options.cluster:
        per_node = options.per_node
        words += ["-ppn", str(per_node)] if options.mpi == "mpich" else ["--map-by", f"ppr:{per_node}:node"]
    words = [*millrace("run", "--"), *words] if preload else words
    if options.cluster:
        words = [*millrace("cluster", "exec", "--name", options.cluster, "0", "--"), *words]
    return words, [path for path in (shim,) if path]


def run(options, ranks, folder, first, last, preload, extra):
    folder.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MILLRACE_")}
    words, preloads = command_of(options, ranks, preload)
    preloads += [path for path in (environment.get("LD_PRELOAD", ""),) if path]
    if preloads:
        environment["LD_PRELOAD"] = ":".join(preloads)
    environment.update(extra)
    if options.verbose:
        environment["MILLRACE_DIFFERENTIAL_VERBOSE"] = "1"
    if preload:
        environment["MILLRACE_STATS"] = str(options.stats)
    command = [*words, options.program, str(folder), str(first), str(last)]
    status, out, err = bounded(command, environment, options.timeout)
    if status is None:
        return out, f"no end after {options.timeout:.0f} s\n{err}"
    if status != 0 or "end" not in out.split("\n"):
        return out, f"ended with {status}\n{err}"
    if options.verbose:
        sys.stderr.write(err)
    return out, ""


def pipeline_share(stats):
    """Calls that went through the pipeline, and calls that did not, by the clients' reports."""
    reports = of_ranks(stats)
    return [sum(one[name] for one in reports) for name in ("calls", "direct_calls")]


def lines_by_case(out):
    return {int(line.split()[1]): line for line in out.split("\n") if line.startswith("case ")}


def what_ranks_saw(stock, other, seed):
    """Names the ranks whose digests differ, and both digests, because a rare fault may not happen again."""
    pairs = enumerate(zip(*(one.get(seed, "").split()[4:] for one in (stock, other)), strict=False))
    told = [f"rank {rank} {stock}, with the preload {other}" for rank, (stock, other) in pairs if stock != other]
    return f"what the ranks saw ({'; '.join(told)})"


def compare(stock, other, outs, first, last):
    """Seeds that differ, with a word on how."""
    cases = [lines_by_case(out) for out in outs]
    for seed in range(first, last + 1):
        words = []
        if cases[0].get(seed) != cases[1].get(seed):
            words.append(what_ranks_saw(*cases, seed) if seed in cases[1] else "it did not end")
        for name in (f"case-{seed}-a", f"case-{seed}-b"):
            paths = stock / name, other / name
            if not all(path.exists() for path in paths):
                words.append(f"{name} is missing")
            elif not filecmp.cmp(*paths, shallow=False):
                words.append(f"the bytes of {name}")
        if words:
            yield seed, ", ".join(words)


def replay(options, ranks, seed, settings):
    words = [
        sys.executable,
        os.path.abspath(__file__),
        "--mpi",
        options.mpi,
        "--launcher",
        options.launcher,
        "--program",
        options.program,
        "--ranks",
        str(ranks),
        "--first",
        str(seed),
        "--cases",
        "1",
    ]
    if options.cluster:
        words += ["--per-node", str(options.per_node)]
    words += ["--across"] if options.across else []
    for name in ("preload", "shim", "cluster", "folder"):
        value = getattr(options, name)
        name = f"--{name}"
        if value:
            words += [name, value]
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words + ["--verbose"])


def chunk(options, folder, first, last, corrupt):
    settings = settings_of(options, first) if options.preload else {}
    extra = dict(settings)
    if corrupt:
        extra["MILLRACE_DIFFERENTIAL_CORRUPT"] = str(corrupt)
    ranks = ranks_of(options, first)
    stock, other = folder / "stock", folder / "other"
    out, error = run(options, ranks, stock, first, last, "", {})
    if error and options.stock_may_fail:
        return [], False, {f"left out: seeds {first}..{last}: the stock run {error.splitlines()[0]}"}
    if error:
        sys.exit(f"the stock run of seeds {first}..{last} {error}")
    with_preload, error = run(options, ranks, other, first, last, options.preload, extra)
    wrong = list(compare(stock, other, (out, with_preload), first, last))
    if error:
        print(f"seeds {first}..{last} with {settings}: {error}")
    if error:  # what came after the first case that did not end says nothing
        ended = lines_by_case(with_preload)
        stuck = min((seed for seed in range(first, last + 1) if seed not in ended), default=last)
        wrong = [(seed, words) for seed, words in wrong if seed <= stuck]
    for seed, words in wrong:
        print(f"seed {seed} differs: {words}\n  replay: {replay(options, ranks, seed, settings)}")
    for path in (stock, other):
        shutil.rmtree(path, ignore_errors=True)
    return [seed for seed, _ in wrong], bool(error), {line for line in out.split("\n") if line.startswith("left out: ")}


def main():
    options = parse()
    for path in (options.program, options.preload):
        if path and not os.path.exists(path):
            print(f"skipped: {path} is not built")
            return SKIP
    begin = time.monotonic()
    corrupt = options.first + options.cases // 2 if options.self_test else None
    wrong, broken, left_out = [], False, set()
    # The reports of all nodes are appended to one file. A network file system would lose some of the lines.
    beside = pathlib.Path(options.program).resolve().parent
    with (
        # NFS keeps files that are open. Ranks of a launch that was killed may have some for a moment.
        tempfile.TemporaryDirectory(
            prefix="millrace-differential-", dir=options.folder, ignore_cleanup_errors=True
        ) as temporary,
        tempfile.TemporaryDirectory(prefix="millrace-differential-", dir=beside) as reports,
    ):
        options.stats = pathlib.Path(reports) / "stats"
        last = options.first + options.cases - 1
        for first in range(options.first, last + 1, options.chunk):
            end = min(first + options.chunk - 1, last)
            inject = corrupt if corrupt and first <= corrupt <= end else None
            found, failed, reasons = chunk(options, pathlib.Path(temporary), first, end, inject)
            wrong += found
            left_out |= reasons
            broken = broken or failed
        calls = pipeline_share(options.stats)
    seconds = time.monotonic() - begin
    print("".join(f"{reason}\n" for reason in sorted(left_out)), end="")
    print(f"{options.cases} cases, {len(wrong)} differ, {seconds:.1f} s")
    if options.preload:
        print(f"{calls[0]} calls through the pipeline, {calls[1]} by the MPI library")
        if options.left and calls[0] > 0:
            print("calls took the pipeline that have to be left to the MPI library")
            return 1
        if not options.left and options.cases >= options.chunk and calls[0] == 0:
            print("nothing was tested: no call took the pipeline")
            return 1
    if options.self_test:
        return 0 if wrong == [corrupt] and not broken else 1
    return 1 if wrong or broken else 0


if __name__ == "__main__":
    sys.exit(main())
