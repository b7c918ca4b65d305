#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Measures how long saving and loading a dictionary of arrays takes, by Millrace and by what else is installed."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import shlex
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(ROOT / "python"))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.0, help="of all arrays together (1)")
    parser.add_argument("--arrays", type=int, default=48, help="how many they are (48)")
    parser.add_argument("--rounds", type=int, default=5, help="in which the ways take turns (5)")
    parser.add_argument("--only", default="", help="ways whose names contain this; stream always")
    parser.add_argument("--device", help="where torch's tensors are: cuda, cuda:1... (host memory)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--dir", type=pathlib.Path, default=ROOT / "build", help="where files are written (build)")
    parser.add_argument("--out", type=pathlib.Path, help="folder for checkpoint.json and checkpoint.md")
    return parser


def main() -> int:
    parser = arguments()
    options = parser.parse_args()
    if options.gib <= 0 or options.arrays < 1 or options.rounds < 1:
        parser.error("--gib, --arrays and --rounds are more than 0")
    os.environ.setdefault("MILLRACE_PREFIX", str(options.build.absolute()))
    try:
        from checkpoint import measure, methods, report
    except ImportError as error:
        parser.error(f"NumPy is needed ({error})")
    from bars.report import machine
    from millrace.api import native

    there, absent = methods.available(options.device)
    ours = methods.ours(options.device)
    there = [one for one in there if one.is_limit or one.name == ours or options.only in one.name]
    if ours not in (one.name for one in there):
        parser.error(f"--device {options.device}: PyTorch is needed")
    state = measure.state_of(int(options.gib * (1 << 30)), options.arrays)
    size = sum(array.nbytes for array in state.values())
    with tempfile.TemporaryDirectory(prefix="checkpoint-", dir=options.dir) as folder:
        limit = measure.disk(options.build, pathlib.Path(folder), size // 4096 * 4096 or 4096, options.rounds)
        rounds = measure.Rounds(pathlib.Path(folder), state, there, options.device)
        rounds.run(options.rounds)
    about = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "machine": machine(options.dir),
        "bytes": size,
        "arrays": options.arrays,
        "rounds": options.rounds,
        "device": options.device,
        "absent": absent,
        "library": native.find() is not None,
    }
    document = report.to_json(about, rounds, limit)
    text = report.markdown(document)
    print(text, end="")
    for name in absent:
        print(f"Not installed: what {name} needs.")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "checkpoint.json").write_text(json.dumps(document, indent=1) + "\n")
        (options.out / "checkpoint.md").write_text(text)
    for wrong in rounds.wrong:
        print(f"WRONG: {wrong} is not what was saved", file=sys.stderr)
    return 1 if rounds.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
