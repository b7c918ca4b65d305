#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What bar 4 of run_ring.py measured beside what two models say of the virtual cluster.

`agent`: the shipped agent in virtual time (millrace-sim), every byte of it; `stations`: `millrace model
virtual-cluster`. Both have the numbers of python/millrace/tools/model/machines/virtual-cluster.yaml, and the time that
MPI_File_open took in the run: it is measured, not predicted.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from millrace.tools.model import machine, network  # noqa: E402

MIB = 1 << 20
WITHIN = 0.15
# pattern: (transfer, block, in random order), as bench/ior's presets
PATTERNS = {"fine-4k": (4096, 16384, False), "fine-1k": (1024, 1024, False), "random-256": (256, 256, True)}


def agent(
    of: machine.Machine, program: pathlib.Path, shape: dict, pattern: str, servers: int, topology: str, size: int
) -> float:
    """Seconds of the shipped agent in virtual time, after opening."""
    transfer, block, scattered = PATTERNS[pattern]
    ranks = shape["nodes"] * shape["per_node"]
    take = of["take_scattered"] if scattered else of["take_record"]
    values = {
        "nodes": shape["nodes"],
        "ranks_per_node": shape["per_node"],
        "transfer": transfer,
        "block": block,
        "segments": max(1, size // ranks // block),
        "random": int(scattered),
        "servers": servers,
        "topology": topology,
        "cores": of.count("cores"),
        "link_bytes_per_second": round(of["link_rate"]),
        "link_latency_ns": round(of["link_latency"]),
        "disk_bytes_per_second": round(of["disk_rate"]),
        "disk_sync_ns": round(of["sync"]),
        "copy_bytes_per_second": round(1e9 / of["disk_byte"]),
        "take_bytes_per_second": round(1e9 / of["take_byte"]),
        "record_ps": round(take * 1000),
        "net_byte_ps": round(of["net_byte"] * 1000),
        "disk_byte_ps": round(of["disk_byte"] * 1000),
        "rank_record_ps": round(of["rank_record"] * 1000),
        "rank_byte_ps": round(of["rank_byte"] * 1000),
    }
    words = [f"{name}={value}" for name, value in values.items()]
    done = subprocess.run([program, "--ior", *words], capture_output=True, text=True, timeout=300, check=True)
    line = done.stdout.splitlines()[-1].split()  # "N bytes in T ns"
    return int(line[3]) / 1e9


def stations(of: machine.Machine, shape: dict, pattern: str, servers: int, topology: str, size: int) -> float:
    transfer, _, scattered = PATTERNS[pattern]
    rank_bytes = size // (shape["nodes"] * shape["per_node"])
    question = network.Question(topology, servers, shape["nodes"], shape["per_node"], rank_bytes, transfer, scattered)
    return network.ask(of, question).seconds - network.open_ns(of, shape["nodes"]) / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=pathlib.Path, help="ring.json of run_ring.py --bars 4")
    parser.add_argument("--sim", type=pathlib.Path, default=ROOT / "build/bin/tests/millrace-sim")
    options = parser.parse_args()
    of = machine.find("virtual-cluster")
    results = [one for one in json.loads(options.measured.read_text())["cases"] if one["bar"] == 4]
    print("| pattern | servers, topology | measured, MiB/s | agent in virtual time | error | stations | error |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    missed = {"agent": 0, "stations": 0}
    for result in results:
        for name, way in result["ways"].items():
            if not way["mib_s"]:
                print(f"| {result['pattern']} | {name} | {way['problem']} | | | | |")
                missed = {model: count + 1 for model, count in missed.items()}
                continue
            servers, topology = name.split()
            measured = statistics.median(way["mib_s"])
            asked = (result["shape"], result["pattern"], int(servers), topology, way["size"])
            cells = []
            opened = statistics.median(way["open_ms"]) / 1e3
            for model, seconds in (("agent", agent(of, options.sim, *asked)), ("stations", stations(of, *asked))):
                found = way["size"] / MIB / (opened + seconds)
                error = found / measured - 1
                missed[model] += abs(error) > WITHIN
                cells.append(f"{found:.1f} | {error:+.1%}{'' if abs(error) <= WITHIN else ' **off**'}")
            print(f"| {result['pattern']} | {name} | {measured:.1f} | {' | '.join(cells)} |", flush=True)
    print(f"\nNot within {WITHIN:.0%}: agent {missed['agent']}, stations {missed['stations']}.")
    return 1 if missed["agent"] else 0


if __name__ == "__main__":
    sys.exit(main())
