#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What records of several nodes cost the agents' processors: as root, on a virtual cluster of its own.

Files of the same size in pieces of 4 KiB, 1 KiB and, in random order, 256 bytes: what smaller pieces need beyond those
of 4 KiB, by the records that are more, is the cost of taking one. A record is taken on its own node and, where that is
not the file server's, there again. python/millrace/tools/model/machines/virtual-cluster.yaml has its numbers from here.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from bars.cases import PATTERNS  # noqa: E402

import ring  # noqa: E402, F401  (the places of the modules below)
from ring import cases  # noqa: E402
from ring.nodes import Nodes, Shape  # noqa: E402

SIZE = 64 << 20
BASE = "fine-4k"
NODES, PER_NODE = 4, 4
LOOK_EVERY_S = 0.05


class Agents:
    """Looks at the processor time of agents that have begun since, again and again: they end with their job."""

    def __init__(self) -> None:
        self._before = set(self._now())
        self._seconds: dict[tuple[int, str], float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Agents:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @staticmethod
    def _now() -> dict[tuple[int, str], float]:
        """Process and its start -> seconds."""
        found = {}
        for place in pathlib.Path("/proc").iterdir():
            try:
                text = (place / "stat").read_text() if place.name.isdigit() else ""
            except OSError:  # it has just ended
                continue
            if "(millraced)" in text:
                words = text[text.rindex(")") + 2 :].split()
                found[int(place.name), words[19]] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        return found

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self._seconds |= {who: spent for who, spent in self._now().items() if who not in self._before}

    @property
    def seconds(self) -> float:
        return sum(self._seconds.values())


def taken(pattern: str) -> float:
    """How often records are taken for one file."""
    return SIZE / PATTERNS[pattern][0] * (1 + (NODES - 1) / NODES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=12, help="of each pattern (12)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    options = parser.parse_args()
    spent: dict[str, float] = {}
    print("| pattern | processor time of all agents for a file, s | of a record more, ns |")
    print("| --- | --- | --- |")
    with tempfile.TemporaryDirectory(dir=options.build) as name:
        folder = pathlib.Path(name)
        with Nodes(Shape(NODES, PER_NODE, "1gbit"), options.build.absolute(), [folder], 120) as nodes:
            for pattern in (BASE, "fine-1k", "random-256"):
                arguments = [*cases.ior(pattern, str(SIZE)), "-i", str(options.files), "-o", str(folder / "file")]
                settings = cases.PIPELINE | cases.ONE_SERVER | {"MILLRACE_TOPOLOGY": "direct"}
                with Agents() as agents:
                    nodes.mpi("ior", "mpich", arguments, settings)
                spent[pattern] = agents.seconds / options.files
                more = taken(pattern) - taken(BASE)
                cost = f"{(spent[pattern] - spent[BASE]) / more * 1e9:.0f}" if more else ""
                print(f"| {pattern} | {spent[pattern]:.3f} | {cost} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
