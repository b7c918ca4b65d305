#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""bench/ior and bench/mdtest against the real IOR and MDTEST, with the same options, in turns.

    git clone https://github.com/hpc/ior FOLDER && cd FOLDER && ./bootstrap && ./configure MPICC=mpicc.mpich && make
    bench/run_peers.py --ior FOLDER/src --dir DIR [--turns 7] [--parts ior,mdtest]

Both are started by the same launcher with the same preloads. Prints a table (Markdown) of medians, and the ratio of
ours to theirs with the smallest and largest of all turns; --json FILE has every figure.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "python"))

from bars.launch import Launcher, run_json  # noqa: E402
from millrace.tools.session import RunFailed, output  # noqa: E402

# (ranks, options): what both programs are given.
IOR = [
    (1, "-a POSIX -F -t 1m -b 256m -s 1 -e"),
    (2, "-a POSIX -F -t 1m -b 128m -s 1 -e"),
    (2, "-a MPIIO -t 1m -b 1m -s 128 -e"),
    (2, "-a MPIIO -t 32k -b 64k -s 1024 -e"),
    (2, "-a MPIIO -c -t 256k -b 256k -s 256 -e"),
    (2, "-a MPIIO -t 4k -b 16k -s 512 -e"),
]
MDTEST = [
    (1, "-n 10000"),
    (2, "-n 5000 -u"),
    (2, "-n 2000 -N 1 -F -w 3901 -e 3901"),
    (2, "-I 20 -z 3 -b 4 -u"),
]
NAMES = {
    "Directory creation": "dir_create",
    "Directory stat": "dir_stat",
    "Directory rename": "dir_rename",
    "Directory removal": "dir_remove",
    "File creation": "file_create",
    "File stat": "file_stat",
    "File read": "file_read",
    "File removal": "file_remove",
}


class Peers:
    def __init__(self, options: argparse.Namespace) -> None:
        self.o = options
        self.launcher = Launcher(options.build.absolute(), pathlib.Path("none"), options.timeout)

    def _ours(self, program: str, ranks: int, arguments: list[str]) -> dict:
        command = self.launcher.command(program, "mpich", ranks, arguments, False)
        return run_json(command, self.environment(), self.o.timeout)

    def _theirs(self, program: str, ranks: int, arguments: list[str]) -> str:
        command = self.launcher.command(program, "mpich", ranks, arguments, False)
        at = next(i for i, word in enumerate(command) if word.endswith(f"/{program}-mpich"))
        command[at] = str(self.o.ior.absolute() / program)
        return output(command, self.o.timeout)

    @staticmethod
    def environment() -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}

    def ior(self, ours: bool, ranks: int, text: str) -> dict[str, float]:
        arguments = [*text.split(), "-w", "-r", "-o", str(self.o.dir / "peers.ior")]
        if ours:
            document = self._ours("ior", ranks, [*arguments, "-W"])  # checked after the time has ended
            return {way: document[way]["median_mib_s"] for way in ("write", "read")}
        found = {}
        for line in self._theirs("ior", ranks, arguments).splitlines():
            match = re.match(r"(write|read) +([\d.]+) ", line)
            if match:
                found.setdefault(match[1], float(match[2]))
        return found

    def mdtest(self, ours: bool, ranks: int, text: str) -> dict[str, float]:
        folder = self.o.dir / "peers.mdtest"
        shutil.rmtree(folder, ignore_errors=True)
        arguments = [*text.split(), "-d", str(folder)]
        if ours:
            document = self._ours("mdtest", ranks, [*arguments, "--limit-items", "0"])
            rates = {one["operation"]: one["mean_per_s"] for one in document["runs"][0]["operations"]}
            return {name: rates[name] for name in NAMES.values() if name in rates}
        found = {}
        for line in self._theirs("mdtest", ranks, arguments).splitlines():
            match = re.match(r" +(\w+ \w+) +[\d.]+ +[\d.]+ +([\d.]+) ", line)
            if match and match[1] in NAMES and float(match[2]) > 0:
                found[NAMES[match[1]]] = float(match[2])
        return found


def compare(measure, ranks: int, text: str, turns: int) -> list[dict]:
    """Ours and theirs in turns, each first in every other one."""
    ours, theirs = [], []
    for turn in range(turns):
        for mine in (True, False) if turn % 2 == 0 else (False, True):
            (ours if mine else theirs).append(measure(mine, ranks, text))
    rows = []
    for what in theirs[0]:
        mine, real = [one[what] for one in ours], [one[what] for one in theirs]
        ratios = sorted(a / b for a, b in zip(mine, real, strict=True))
        rows.append(
            {
                "options": text,
                "ranks": ranks,
                "what": what,
                "ours": statistics.median(mine),
                "theirs": statistics.median(real),
                "ratio": statistics.median(mine) / statistics.median(real),
                "ratio_min": ratios[0],
                "ratio_max": ratios[-1],
                "all_ours": mine,
                "all_theirs": real,
            }
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ior", type=pathlib.Path, required=True, help="folder of the real ior and mdtest")
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path("."), help="where the files are written (.)")
    parser.add_argument("--parts", default="ior,mdtest")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--timeout", type=float, default=300, help="bound of every run in seconds (300)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all the figures")
    options = parser.parse_args()
    for name in ("ior", "mdtest"):
        if not (options.ior / name).exists():
            parser.error(f"--ior: there is no {name} in {options.ior}: build it there first")
    peers = Peers(options)
    rows = []
    print("| program | ranks | options | what | ours | theirs | ratio |\n| --- | --- | --- | --- | --- | --- | --- |")
    for part, cases in (("ior", IOR), ("mdtest", MDTEST)):
        for ranks, text in cases if part in options.parts.split(",") else ():
            for row in compare(getattr(peers, part), ranks, text, options.turns):
                rows.append({"program": part, **row})
                spread = f"{row['ratio']:.2f} ({row['ratio_min']:.2f} to {row['ratio_max']:.2f})"
                figures = f"{row['ours']:,.0f} | {row['theirs']:,.0f} | {spread}"
                print(f"| {part} | {ranks} | `{text}` | {row['what']} | {figures} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RunFailed as problem:
        sys.exit(f"run_peers: {problem}")
