# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Any program of bench/, by its name: prints at once what it would print. The file `orders` beside it says what goes
wrong: lines of PROGRAM fail|garbage|unverified|hang."""

import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = sys.argv.pop(1)


def spread(*values):
    ordered = sorted(values)
    return {"min": ordered[0], "median": ordered[len(ordered) // 2], "max": ordered[-1]}


def rates(name, *values):
    ordered = spread(*values)
    return {f"{key}_{name}": value for key, value in ordered.items()}


def memory():
    runs = [
        {"loop": loop, "form": "plain", "bytes": 1, "gb_s": spread(9, 10, 11), "samples_gb_s": [9, 10, 11]}
        for loop in ("read", "copy", "scale", "add", "triad")
    ]
    return {"runs": runs, "best_gb_s": {run["loop"]: 11 for run in runs}}


def flops():
    loop = {"isa": "avx2", "one_thread_gflops": {**spread(10), "samples": [10]}}
    loop["all_threads_gflops"] = {**spread(20), "samples": [20, 20, 20]}
    return {"loops": [loop], "best": "avx2", "peak_gflops": 20, "peak_gflops_one_thread": 10}


def limit():
    return {
        "methods": {"paced": {**rates("mib_s", 1000), "mib_s": [990, 1000, 1010]}},
        "best": "paced",
        "limit_mib_s": 1000,
    }


def metadata():
    names = ("file_create", "file_stat")
    return {"operations": [{"operation": n, "per_s": spread(5000), "samples_per_s": [5000] * 3} for n in names]}


def link():
    return {"sizes": [{"bytes": 8, "one_pair": {"one_way_us": spread(1), "mib_s": spread(8)}},
                      {"bytes": 1 << 20, "one_pair": {"one_way_us": spread(100), "mib_s": spread(4000)}}]}  # fmt: skip


def ior():
    rate = 800 if "libmillrace.so" in os.environ.get("LD_PRELOAD", "") else 100
    rate = 50 if "-c" in sys.argv else rate
    return {"write": {**rates("mib_s", rate), "repetitions": [{"mib_s": rate}] * 3}, "bytes": 1}


def btio():
    return {"write": rates("mib_s", 300), "repetitions": [{"mib_s": 300, "mop_s": 7}] * 3}


def fpp():
    size = {"bytes_per_rank": 1 << 20, "limit": {"write_mib_s": 500, "read_mib_s": 900}}
    return {"sizes": [{**size, "write_mib_s": spread(400), "read_mib_s": spread(800)}]}


def ipc():
    size = {"bytes": 64, "write_mib_s": spread(50), "read_mib_s": spread(60)}
    size.update(latency_us=spread(2), limit_mib_s=spread(100), fraction_of_limit=0.6)
    return {"methods": {"pipe": {"sizes": [size]}}}


def transfer():
    return {"problem": "no device: there is none in a test"}


def main():
    orders = HERE / "orders"
    order = dict(line.split() for line in orders.read_text().splitlines()) if orders.exists() else {}
    with (HERE / "started").open("a") as started:
        started.write(NAME + "\n")
    how = order.get(NAME, "")
    if how == "hang":
        time.sleep(600)
    if how == "fail":
        print(f"{NAME}: the disk is on fire", file=sys.stderr)
        sys.exit(1)
    if how == "garbage":
        print("no JSON at all")
        return
    document = {"schema": "millrace-bench", "version": 1, "benchmark": NAME, **globals()[NAME]()}
    document.setdefault("verified", how != "unverified")
    print(json.dumps(document))


main()
