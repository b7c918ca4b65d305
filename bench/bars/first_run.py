# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What a user sees: one launch and one new file for each sample, memory as it comes, with and without sync."""

from __future__ import annotations

from .cases import PATTERNS, Case, Selection

NEVER_SLOWER = 0.97
# pattern: (with sync, without), of the stock library with 4 ranks and MPICH
TARGETS = {
    "bricks-768-views": (1.0, 1.0),
    "structs-12": (1.7, NEVER_SLOWER),
    "random-256": (2.5, 2.5),
    "fine-256": (3.0, 3.0),
    "fine-4k": (1.7, 1.1),
}
# Bytes of a row of a brick: (dimensions, by the number of ranks)
BRICKS = {
    768: {4: ("480x192x192", "1x2x2"), 16: ("120x384x384", "1x4x4")},
    1 << 10: {4: ("360x192x256", "1x2x2"), 16: ("90x384x512", "1x4x4")},
    4 << 10: {4: ("128x128x1024", "1x2x2"), 16: ("32x256x2048", "1x4x4")},
}
# One dataset, which the ranks write row by row: (rows of all ranks, values of 8 bytes per row, options).
HDF5_ROWS = {
    "contiguous": (32000, 400, ["--chunked-every", "0"]),
    "chunked": (32000, 400, ["--chunked-every", "1"]),
    "fill": (32000, 400, ["--chunked-every", "0", "--fill"]),
    "latest": (32000, 400, ["--chunked-every", "0", "--latest"]),
    "collective": (32000, 400, ["--chunked-every", "0", "--collective"]),
    "wide": (3200, 4000, ["--chunked-every", "0"]),
    "large": (128000, 400, ["--chunked-every", "0"]),
    "series": (12800, 400, ["--chunked-every", "0", "--repetitions", "10"]),
}
STRUCTS = (12, 40)  # bytes of the struct, alone between those of other ranks in memory and in the file


def fraction_bar(pattern: str, piece: int) -> float:
    """What part of a stream to a new file of the same size a pattern has to reach."""
    if pattern == "random-256":
        return 0.4
    return 0.85 if piece >= 4096 else 0.7 if piece >= 1024 else 0.5


def select(selection: Selection) -> list[Case]:
    found = []
    for mpi in selection.mpis:
        for ranks in selection.ranks:
            for sync in (True, False):
                found += [case for case in _cases(selection, mpi, ranks, sync) if selection.wants(case)]
    return found


def _cases(selection: Selection, mpi: str, ranks: int, sync: bool) -> list[Case]:
    size = ["--at-least", "128m", "--at-most", selection.at_most or "256m"]
    small = ["--at-least", "32m", "--at-most", selection.at_most or "64m"]  # stock needs seconds for these
    cold = ["--no-warm", "-W", *["-e"] * sync]

    def case(pattern: str, program: str, arguments: list[str], piece: int = 0) -> Case:
        targets = TARGETS.get(pattern, (NEVER_SLOWER, NEVER_SLOWER)) if (mpi, ranks) == ("mpich", 4) else ()
        ratio = targets[0 if sync else 1] if targets else NEVER_SLOWER
        limit = fraction_bar(pattern, piece) if piece and mpi == "mpich" else None
        return Case([1], f"{pattern}{'+sync' * sync}", mpi, ranks, program, arguments, ratio, limit, sync=sync)

    cases = []
    for pattern, (piece, _) in PATTERNS.items():
        arguments = ["-a", "MPIIO", "-w", *cold, "--preset", pattern]
        cases.append(case(pattern, "ior", [*arguments, *size], piece))
        if not pattern.startswith("random"):  # deals unequal numbers of calls to ranks
            cases.append(case(f"{pattern}-collective", "ior", [*arguments, *small, "-c"]))
    for row, by_ranks in BRICKS.items():
        if ranks in by_ranks:
            dims, grid = by_ranks[ranks]
            arguments = [*cold, "-d", dims, "-g", grid]
            cases.append(case(f"bricks-{row}", "subarray", arguments, row))
            cases.append(case(f"bricks-{row}-views", "subarray", [*arguments, "--views", "plane"]))
    for element in STRUCTS:
        rows = (128 << 20) // (element * ranks)
        words = ["-d", f"{rows}x{ranks}", "-g", f"1x{ranks}", "--element", str(element), "--ghost", "1"]
        cases.append(case(f"structs-{element}", "subarray", [*cold, *words, "--pieces", "whole"]))
    if round(ranks**0.5) ** 2 == ranks:
        for problem in ("W",) if selection.quick else ("W", "A"):
            for mode in ("full", "simple"):
                words = ["-C", problem, "-m", mode, "--verify", "plain", "--no-warm", *["-e"] * sync]
                cases.append(case(f"btio-{mode}-{problem}", "btio", words))
    cases.append(case("hdf5-small-datasets", "hdf5", ["--no-warm", *["-e"] * sync]))
    for kind, (rows, values, options) in HDF5_ROWS.items():
        words = ["-d", "1", "--rows", str(rows // ranks), "-n", str(values), "-a", "0", "--read-every", "0"]
        cases.append(case(f"hdf5-rows-{kind}", "hdf5", ["--no-warm", *words, "--by-rows", *options, *["-e"] * sync]))
    if mpi == "ompi":  # Debian's PnetCDF is built for Open MPI alone
        cases.append(case("pnetcdf-variables", "pnetcdf", ["--no-warm", *["-e"] * sync]))
    return cases
