# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What is run, and at which sizes.

Sizes, buffers and numbers of ranks are the papers', as far as they fit: the values of all ranks and their files may
take half of the memory that is there and a quarter of the disk, and there are at most 8 ranks for each processor.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil

MIB = 1 << 20
SIZES_MIB = (1, 8, 32, 128, 512, 1024)
BUFFERS = ("512k", "8k")
RANKS = (1, 2, 4, 8, 16, 24, 32, 64)
LANGUAGES = ("c", "fortran")
PARTS = ("ipc", "transfer", "host", "disk", "device")
# Files that have to be on the disk: the sizes and numbers of ranks that the bars name.
DISK_SIZES_MIB = (1, 64, 256, 1024)
DISK_RANKS = (1, 4, 16)
BY_LIBRARY = ("api", "requests", "offload")
AGAIN = "again"  # the method normal once more: how much a comparison says of nothing
LIMITED_MIB = 64  # from here on the disk's stream is the limit


@dataclasses.dataclass(frozen=True)
class Room:
    """What this machine has for the values of all ranks together."""

    bytes: int
    processors: int

    @staticmethod
    def here(directory: pathlib.Path, at_most: int) -> Room:
        memory = 0
        for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                memory = int(line.split()[1]) * 1024
        # Values are there twice: in the rank and in the page cache.
        most = min(memory // 4, shutil.disk_usage(directory).free // 4, at_most)
        return Room(most, len(os.sched_getaffinity(0)))

    def sizes(self, ranks: int, wanted: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(size for size in wanted if size * MIB * ranks <= self.bytes)

    def ranks(self, wanted: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(n for n in wanted if n <= 8 * self.processors and self.sizes(n, (1,)))


@dataclasses.dataclass(frozen=True)
class Point:
    """One way to start one program."""

    part: str
    program: str
    ranks: int  # 0: no MPI program
    arguments: tuple[str, ...]
    language: str = ""
    buffer: str = ""
    method: str = ""
    mapping: str = ""

    @property
    def name(self) -> str:
        words = [
            self.part,
            self.language,
            self.buffer,
            self.mapping,
            self.method,
            f"{self.ranks} ranks" * (self.ranks > 0),
        ]
        return " ".join(word for word in words if word)


@dataclasses.dataclass(frozen=True)
class Wishes:
    parts: tuple[str, ...]
    languages: tuple[str, ...]
    buffers: tuple[str, ...]
    ranks: tuple[int, ...]
    sizes_mib: tuple[int, ...]
    disk_sizes_mib: tuple[int, ...]
    repetitions: int
    preload: str  # empty: there is none
    library: str  # of the C API; empty: there is none
    driver: str
    quick: bool


def _fpp(
    w: Wishes, part: str, ranks: int, sizes: tuple[int, ...], language: str, buffer: str, method: str, *more: str
) -> Point:
    runs = "normal" if method == AGAIN else method
    words = ["-l", language, "-b", buffer, "-m", runs, "-i", str(w.repetitions), "--no-warm"]
    words += ["-s", ",".join(f"{size}m" for size in sizes), *more]
    if method in ("accelerated", "async"):
        words += ["--preload", w.preload]
    if method in BY_LIBRARY:
        words += ["--library", w.library]
    mapping = more[more.index("--mapping") + 1] if "--mapping" in more else ""
    return Point(part, "fpp", ranks, tuple(words), language, buffer, method, mapping)


def _methods(w: Wishes, device: bool, language: str, buffer: str) -> list[str]:
    """The library's own calls know no language's buffer: once."""
    own = list(BY_LIBRARY) if w.library and (language, buffer) == (LANGUAGES[0], BUFFERS[0]) else []
    if device:  # Fortran's runtime copies a part by itself: such memory is not for it
        return ["normal", "fresh"] + ["accelerated"] * bool(w.preload and language != "fortran") + own
    return ["normal"] + ["accelerated", "async"] * bool(w.preload) + own + [AGAIN] * bool(w.preload or own)


def points(w: Wishes, room: Room) -> list[Point]:
    """In the order in which they are run: what stands side by side later runs side by side."""
    found = []
    quick = ("-i", "1", "--bytes", "64k", "--sizes", "64,64k") if w.quick else ()
    if "ipc" in w.parts:
        found.append(Point("ipc", "ipc", 2, quick or ("-i", "5")))
    if "transfer" in w.parts:
        found.append(Point("transfer", "transfer", 0, ("--driver", w.driver, *quick), method="cuda"))
        found.append(Point("transfer", "transfer", 0, ("--backend", "process", *quick), method="process"))
    for part in ("host", "device"):
        if part not in w.parts:
            continue
        where = ("--memory", "device", "--driver", w.driver) if part == "device" else ()
        for ranks in room.ranks(w.ranks):
            for language in w.languages:
                for buffer in w.buffers:
                    for method in _methods(w, part == "device", language, buffer):
                        sizes = room.sizes(ranks, w.sizes_mib)
                        mappings = ("ascending", "spread") if part == "device" else ("",)
                        for mapping in mappings:
                            more = ("--mapping", mapping) if mapping else ()
                            found.append(_fpp(w, part, ranks, sizes, language, buffer, method, *where, *more))
    if "disk" in w.parts:
        for ranks in room.ranks(tuple(n for n in DISK_RANKS if n in w.ranks)):
            sizes = room.sizes(ranks, w.disk_sizes_mib)
            for method in ["normal"] + ["accelerated", AGAIN] * bool(w.preload):
                found.append(_fpp(w, "disk", ranks, sizes, "c", BUFFERS[0], method, "--fsync"))
    return found


def totals(w: Wishes, found: list[Point], room: Room) -> list[int]:
    """Bytes of the streams that are the limits of the disk's points, which count from 64 MiB per rank on."""
    ranks = {point.ranks for point in found if point.part == "disk"}
    sizes = tuple(size for size in w.disk_sizes_mib if size >= LIMITED_MIB)
    return sorted({n * size * MIB for n in ranks for size in room.sizes(n, sizes)})
