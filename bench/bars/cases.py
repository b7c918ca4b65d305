# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The matrices of the bars: what is run, and what it has to reach."""

from __future__ import annotations

import dataclasses
import fnmatch

MIB = 1 << 20

# pattern: (bytes per piece, smallest ratio to the stock library)
PATTERNS = {
    "block-1m": (1 << 20, 0.97),
    "block-4m": (4 << 20, 0.97),
    "segments-32k": (32 << 10, 0.97),
    "blocks-32k": (32 << 10, 0.97),
    "fine-4k": (4 << 10, 0.97),
    "fine-1k": (1 << 10, 2.0),
    "fine-256": (256, 3.0),
    "random-1k": (1 << 10, 2.0),
    "random-256": (256, 3.0),
}

# 3-D bricks, plane by plane: (dimensions, bytes per row of a brick). Bricks are cut in the fastest dimension too,
# so that every row of a plane is a piece of its own in the file.
BRICKS = {
    "bricks-1k": ("256x256x256", 1 << 10),
    "bricks-4k": ("128x256x1024", 4 << 10),
}
BRICK_GRIDS = {4: "1x2x2", 16: "4x2x2", 64: "16x2x2"}


@dataclasses.dataclass
class Case:
    """One program with its arguments, run in pairs without and with Millrace."""

    bars: list[int]
    pattern: str
    mpi: str
    ranks: int
    program: str
    arguments: list[str]
    ratio_bar: float
    fraction_bar: float | None = None  # of the limit; None = the limit is not measured
    metric: tuple[str, str] = ("write", "median_mib_s")
    sync: bool = True
    note: str = ""

    @property
    def name(self) -> str:
        return f"{self.pattern}/{self.mpi}/{self.ranks}"


@dataclasses.dataclass
class Selection:
    """What the user wants of all there is."""

    bars: set[int]
    mpis: list[str]
    ranks: list[int]
    patterns: list[str]
    sizes: list[str]  # "preset", or a size that every file has at least
    at_most: str = ""
    quick: bool = False

    def wants(self, case: Case) -> bool:
        return (
            bool(self.bars & set(case.bars))
            and case.mpi in self.mpis
            and any(fnmatch.fnmatch(case.pattern, p) for p in self.patterns)
        )


def fraction_bar(piece: int) -> float:
    """What part of the limit a pattern with pieces of this size has to reach."""
    if piece >= 4096:
        return 0.85
    return 0.7 if piece >= 1024 else 0.45


def size_arguments(size: str, at_most: str) -> list[str]:
    arguments = [] if size == "preset" else ["--at-least", size]
    return arguments + (["--at-most", at_most] if at_most else [])


def independent(selection: Selection, mpi: str, ranks: int) -> list[Case]:
    """Bars 2 and 3: independent calls in every pattern, fsync before close."""
    cases = []
    bars = [2, 3] if mpi == "mpich" else [3]
    for pattern, (piece, ratio) in PATTERNS.items():
        for size in selection.sizes:
            arguments = ["-a", "MPIIO", "--preset", pattern, *size_arguments(size, selection.at_most)]
            name = pattern if size == "preset" else f"{pattern}@{size}"
            limit = fraction_bar(piece) if mpi == "mpich" else None
            cases.append(Case(bars, name, mpi, ranks, "ior", [*arguments, "-w", "-e", "-W"], ratio, limit))
    for pattern, (dims, piece) in BRICKS.items():
        if ranks not in BRICK_GRIDS:
            continue
        arguments = ["-d", dims, "-g", BRICK_GRIDS[ranks], "--pieces", "plane", "-e", "-W"]
        limit = fraction_bar(piece) if mpi == "mpich" else None
        cases.append(Case(bars, pattern, mpi, ranks, "subarray", arguments, 4.0, limit))
    for pattern in ("paper-1m", "paper-fine"):
        arguments = ["-a", "MPIIO", "--preset", pattern, "--at-most", "8m", "-w", "-e", "-W"]
        cases.append(Case([3], f"small-{pattern}", mpi, ranks, "ior", arguments, 0.97, note="file below 64 MiB"))
    return cases


def collective(selection: Selection, mpi: str, ranks: int) -> list[Case]:
    """Bar 3: collective calls and BT-IO."""
    cases = []
    targets = {("fine-4k", 16): 5.0, ("fine-256", 4): 8.0}
    for pattern in ("fine-4k", "fine-256"):
        arguments = ["-a", "MPIIO", "-c", "--preset", pattern, *size_arguments("preset", selection.at_most)]
        ratio = targets.get((pattern, ranks), 0.97)
        cases.append(Case([3], f"collective-{pattern}", mpi, ranks, "ior", [*arguments, "-w", "-e", "-W"], ratio))
    problem = "W" if selection.quick else "A"
    full_targets = {4: 4.0, 16: 10.0}
    for mode, ratio in (("full", full_targets.get(ranks, 0.97)), ("simple", 2.0)):
        arguments = ["-C", problem, "-m", mode, "--verify", "plain"]
        if round(ranks**0.5) ** 2 == ranks:
            cases.append(
                Case(
                    [3],
                    f"btio-{mode}-{problem}",
                    mpi,
                    ranks,
                    "btio",
                    arguments,
                    ratio,
                    sync=False,
                    note="no fsync; ratio of the times in I/O",
                )
            )
    return cases


def no_harm(selection: Selection, mpi: str, ranks: int) -> list[Case]:
    """Bar 4: large pieces and reads must not suffer."""
    size = ["--at-most", selection.at_most] if selection.at_most else []
    large = ["-a", "MPIIO", "--preset", "large-64m", *size, "-w", "-e", "-W"]
    cases = [
        Case([4], "large-shared", mpi, ranks, "ior", large, 0.98),
        Case([4], "large-file-per-process", mpi, ranks, "ior", [*large, "-F"], 0.98),
    ]
    for pattern in ("block-1m", "fine-4k", "fine-1k"):
        arguments = ["-a", "MPIIO", "--preset", pattern, *size, "-w", "-e", "-W", "-r", "-C"]
        cases.append(Case([4], f"read-{pattern}", mpi, ranks, "ior", arguments, 0.98, metric=("read", "median_mib_s")))
    return cases + collective_reads(mpi, ranks) + libraries(mpi, ranks)


def collective_reads(mpi: str, ranks: int) -> list[Case]:
    """Bar 4: collective reads of small pieces. The files are small, because the library's calls take long."""
    return [
        Case(
            [4],
            f"collective-read-{pattern}",
            mpi,
            ranks,
            "ior",
            ["-a", "MPIIO", "-c", "--preset", pattern, "--at-most", "2m", "-w", "-r", "-R", "-C"],
            ratio,
            metric=("read", "median_mib_s"),
            sync=False,
        )
        for pattern, ratio in (("fine-4k", 3.0), ("fine-256", 6.0))
    ]


def libraries(mpi: str, ranks: int) -> list[Case]:
    """Bar 4: what HDF5 and PnetCDF do with many small parts. Rates count from creating the file to closing it."""
    cases = [
        Case([4], "hdf5-small-datasets", mpi, ranks, "hdf5", ["-e"], 0.97, note="reads mixed with writes"),
        Case([4], "hdf5-small-read", mpi, ranks, "hdf5", [], 0.98, metric=("read", "median_mib_s"), sync=False),
    ]
    for calls in ("collective", "independent", "queued"):
        cases.append(Case([4], f"pnetcdf-variables-{calls}", mpi, ranks, "pnetcdf", ["-e", "--calls", calls], 0.97))
    # Debian's PnetCDF is built for Open MPI alone.
    return [case for case in cases if case.program != "pnetcdf" or mpi == "ompi"]


def oversubscribed(selection: Selection) -> list[Case]:
    """Bar 7: far more ranks than cores."""
    arguments = ["-a", "MPIIO", "--preset", "fine-4k", *size_arguments("preset", selection.at_most), "-w", "-e", "-W"]
    return [Case([7], "fine-4k-64-ranks", "mpich", 64, "ior", arguments, 0.97, 0.7)]


def select(selection: Selection) -> list[Case]:
    cases: list[Case] = []
    for mpi in selection.mpis:
        for ranks in selection.ranks:
            cases += independent(selection, mpi, ranks)
            cases += collective(selection, mpi, ranks)
            cases += no_harm(selection, mpi, ranks)
    cases += oversubscribed(selection)
    return [case for case in cases if selection.wants(case)]
