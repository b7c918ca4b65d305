# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Profiles: which cases a session runs, and how their sizes follow the machine.

`quick` takes under five minutes on two processors; `full` uses sizes that caches do not hide; `paper` uses the papers'
own sizes, halved until they fit: at most a quarter of the usable memory for arrays and matrices, of the usable disk for
files, and four ranks for each processor. What measures memory leaves the caches: three arrays take at least four times
the last-level cache together. So does HPL's matrix, which the arrays of STREAM in hpcc follow, up to 256 MiB and where
the BLAS is fast.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from millrace.tools.evaluate import standard
from millrace.tools.evaluate.case import OWN_FILES, Case
from millrace.tools.evaluate.tools import Tools
from millrace.units import format_bytes, human_bytes

MIB, GIB = 1 << 20, 1 << 30
CACHES = 4  # the least size of all arrays together, in last-level caches
LARGE_MATRIX = 256 * MIB  # a larger matrix, only because of a cache, costs minutes in hpcc's RandomAccess
LARGER = 4  # factor on the size of a shared file, to find the fixed cost of a file
CATALOGUE = {"mpich": "ROMIO", "openmpi": "OMPIO"}


@dataclass(frozen=True)
class Profile:
    """Sizes before they are cut to the machine."""

    name: str
    array_bytes: int  # of one of STREAM's three arrays
    matrix_bytes: int  # of HPL
    file_bytes: int  # of a shared file
    limit_bytes: int
    own_file_mib: tuple[int, ...]  # file per process: sizes of a rank's file
    patterns: tuple[tuple[str, str, str], ...]  # name, bytes per call, bytes per block
    btio_class: str
    ranks: int  # 0: one for each processor, at least 4
    repetitions: int
    file_repetitions: int  # of files that take a fraction of a second, because their times vary much
    flops_ms: int
    ipc_sizes: str
    ipc_methods: str
    languages: tuple[str, ...]
    cube: int  # GeoFEM-Cube: nodes along an edge, for each processor
    items: int  # MDTEST, IO500, elbencho: files of each rank; MDTEST: twice as many for one rank alone
    io500_s: int  # the longest time of IO500's writing phases; its list asks for 300


_FINE = ("256 B", "256", "256")
_PATTERNS = (("1 MiB", "1m", "1m"), ("32 KiB", "32k", "64k"), ("4 KiB", "4k", "16k"), ("1 KiB", "1k", "1k"))
_QUICK_WAYS = "pipe,unix-stream,posix-memory,mpi"
PROFILES = {
    "quick": Profile(
        "quick", 128 * MIB, 64 * MIB, 32 * MIB, 128 * MIB, (1, 32), _PATTERNS[1:], "W", 0, 3, 7, 60, "8,64k,4m",
        _QUICK_WAYS, ("c",), 20, 500, 1,
    ),
    "full": Profile(
        "full", GIB, 2 * GIB, 512 * MIB, GIB, (1, 32, 256), (*_PATTERNS, _FINE), "A", 0, 5, 7, 200, "", "",
        ("c", "fortran"), 40, 5000, 10,
    ),
    # STREAM N = 80,000,512; HPL N = 56,000; IOR 1 GiB and more; files of 1 MB to 1 GB per rank; 16 ranks and more.
    "paper": Profile(
        "paper", 80_000_512 * 8, 56_000**2 * 8, 4 * GIB, 4 * GIB, (1, 8, 32, 128, 512, 1024), (*_PATTERNS, _FINE), "B",
        16, 5, 5, 500, "", "", ("c", "fortran"), 40, 5000, 300,
    ),
}  # fmt: skip


def halved_to(value: int, most: int) -> int:
    """The size of the papers, halved until it fits."""
    while value > most and value > 1:
        value //= 2
    return value


def fit(profile: Profile, tools: Tools) -> Profile:
    """The profile with sizes that this machine can hold."""
    memory, disk = tools.memory_bytes // 4, tools.disk_bytes // 4
    ranks = profile.ranks or max(4, tools.processors)
    ranks = min(ranks, max(4, 4 * tools.processors))
    file_bytes = max(4 * MIB, halved_to(profile.file_bytes, min(disk, memory)))
    own = tuple(size for size in profile.own_file_mib if size * MIB * ranks <= min(disk, memory))
    beyond = CACHES * tools.cache_bytes
    matrix_bytes = max(profile.matrix_bytes, min(beyond, LARGE_MATRIX)) if tools.fast_blas else profile.matrix_bytes
    return dataclasses.replace(
        profile,
        array_bytes=halved_to(max(profile.array_bytes, beyond // 3 // MIB * MIB), memory),
        matrix_bytes=halved_to(matrix_bytes, memory),
        file_bytes=file_bytes,
        limit_bytes=max(4 * MIB, halved_to(profile.limit_bytes, min(disk, memory))),
        own_file_mib=own or profile.own_file_mib[:1],
        ranks=ranks,
    )


def rule(profile: Profile) -> str:
    """The decisions of fit(), for the report."""
    return (
        f"Profile {profile.name}: three arrays of {human_bytes(profile.array_bytes)}, an HPL matrix of "
        f"{human_bytes(profile.matrix_bytes)}, shared files of {human_bytes(profile.file_bytes)}, "
        f"{profile.ranks} ranks. Arrays together, and the matrix with a fast BLAS (up to {human_bytes(LARGE_MATRIX)}), "
        f"take at least {CACHES} times the last-level cache. Sizes are halved until arrays and matrices take a quarter "
        "of the usable memory (half of what is available) and files a quarter of the usable disk (half of what is "
        "free)."
    )


def _limits(p: Profile, t: Tools, mpi: str) -> Iterator[Case]:
    memory = ("--size", str(p.array_bytes), "-i", str(2 * p.repetitions))
    yield Case(
        "limit.memory", "memory", "memory", memory, limit=True, memory_bytes=3 * p.array_bytes,
        about="Plain loops over long arrays, all processors",
    )  # fmt: skip
    yield Case(
        "limit.memory-one", "memory", "memory", (*memory, "-t", "1"), limit=True, memory_bytes=3 * p.array_bytes,
        about="The same, one thread: the rate of one process",
    )  # fmt: skip
    yield Case(
        "limit.flops", "compute", "flops", ("-m", str(p.flops_ms), "-i", "5"), limit=True,
        about="Multiply-and-add on registers, every instruction set",
    )  # fmt: skip
    yield Case(
        "limit.storage", "storage", "limit",
        ("-o", "{file}", "-b", str(p.limit_bytes), "-i", str(p.repetitions)), limit=True, disk_bytes=p.limit_bytes,
        about="One sequential stream into a new file, with fsync",
    )  # fmt: skip
    yield Case(
        "limit.metadata", "metadata", "metadata",
        ("-n", str(2 * p.items), "-i", str(p.repetitions), "-d", "{folder}"), limit=True,
        about="Folders and files by one process, plain system calls",
    )  # fmt: skip
    if mpi:
        yield Case(
            "limit.link", "link", "link", ("-b", "16m", "-i", str(p.repetitions)), 2, mpi, limit=True,
            about="Ping-pong by MPI between two ranks",
        )  # fmt: skip


def _hpcc(p: Profile) -> Case:
    return Case(
        "hpcc", "compute", "hpcc", (), 0, "openmpi", memory_bytes=2 * p.matrix_bytes, timeout_s=3600,
        about="HPC Challenge as Debian ships it: HPL, DGEMM, STREAM, FFT", more={"matrix_bytes": p.matrix_bytes},
    )  # fmt: skip


def _geofem(p: Profile, mpi: str, processors: int) -> Iterator[Case]:
    """The paper's case. Except in profile quick, also its orderings, and weak scaling over processors."""

    def case(name: str, threads: int, ranks: int, repetitions: int, more: tuple[str, ...], **words: str) -> Case:
        arguments = ("--per-core", str(p.cube), "-i", str(repetitions), *more)
        arguments += ("--threads", str(threads)) if threads > 1 else ()
        return Case(
            name, "geofem", "geofem", arguments, ranks, mpi, threads=threads, timeout_s=1800,
            memory_bytes=threads * ranks * p.cube**3 * 2600,
            about=f"3-D linear elasticity, {p.cube}^3 nodes for each processor, CG with Gauss-Seidel", **words,
        )  # fmt: skip

    yield case("geofem", 1, processors, min(3, p.repetitions), (), method="flat MPI", pattern="CM-RCM")
    if p.name == "quick":
        return
    for ordering, title in (("mc", "MC"), ("rcm", "RCM"), ("none", "none")):
        more = ("--ordering", ordering)
        yield case(f"geofem.{ordering}", 1, processors, 1, more, method="flat MPI", pattern=title)
    for threads, ranks in shapes(processors):
        method = f"HB {threads}x{ranks}" if threads > 1 else "flat MPI"
        yield case(f"geofem.{threads}x{ranks}", threads, ranks, 1, (), method=method, pattern="weak scaling")


def shapes(processors: int) -> list[tuple[int, int]]:
    """(threads, ranks) of weak scaling: flat MPI, one rank with threads on 1, 2, 4... processors, all ways on all."""
    numbers = [1 << power for power in range(16) if 1 << power < processors]
    found = [shape for n in numbers for shape in dict.fromkeys(((1, n), (n, 1)))]
    return found + [(a, processors // a) for a in range(2, processors + 1) if processors % a == 0]  # flat: `geofem`


def _metadata(p: Profile, mpi: str) -> Iterator[Case]:
    """As in the Oakleaf-FX paper: one process, and several processes with a folder each."""
    for ranks, items in ((1, 2 * p.items), (p.ranks, p.items)):
        arguments = ("-n", str(items), "-u", "-i", str(p.repetitions), "-d", "{folder}")
        yield Case(
            f"mdtest.{ranks}.{mpi}", "metadata", "mdtest", arguments, ranks, mpi, timeout_s=900,
            pattern=f"{ranks} ranks" if ranks > 1 else "1 rank",
            about=f"MDTEST, {items} items of each of {ranks} ranks, a folder each",
        )  # fmt: skip


def _methods(p: Profile, mpi: str, transfer: str, block: str) -> tuple[tuple[str, str, tuple[str, ...], str], ...]:
    """Name, short name, arguments of bench/ior, Millrace's mode. The pattern fixes bytes and ranks."""
    base = ("-w", "-W", "-e", "-t", transfer, "-b", block, "--at-least", str(p.file_bytes),
            "--at-most", str(p.file_bytes), "-i", str(p.file_repetitions), "-o", "{file}")  # fmt: skip
    library = CATALOGUE[mpi]
    return (
        ("POSIX, one shared file", "posix", (*base, "-a", "POSIX"), ""),
        (f"{library} independent", "independent", base, ""),
        (f"{library} collective", "collective", (*base, "-c"), ""),
        ("Millrace independent", "millrace", base, "mpi"),
        ("Millrace collective", "millrace-collective", (*base, "-c"), "mpi"),
        (OWN_FILES, "own", _own_file(p, transfer), ""),
    )


def _shared_files(p: Profile, mpi: str) -> Iterator[Case]:
    """IOR's patterns. The one in which methods differ most runs also with twice the ranks and a larger file."""
    rows = [("ior", "shared-file", pattern, transfer, block, p) for pattern, transfer, block in p.patterns]
    rows.append(("ranks", "ranks", "4 KiB", "4k", "16k", dataclasses.replace(p, ranks=2 * p.ranks)))
    for kind, section, pattern, transfer, block, q in rows:
        for method, short, arguments, millrace in _methods(q, mpi, transfer, block):
            files = "a file each" if method == OWN_FILES else "one file"
            yield Case(
                f"{kind}.{pattern.replace(' ', '')}.{short}.{mpi}", section, "ior", arguments, q.ranks, mpi, millrace,
                method=method, pattern=pattern, disk_bytes=p.file_bytes, timeout_s=600,
                about=f"IOR, {pattern} per call, {q.ranks} ranks, {files}, fsync",
            )  # fmt: skip
    pattern, transfer, block = p.patterns[0]
    large = dataclasses.replace(p, file_bytes=LARGER * p.file_bytes)
    method, short, arguments, _ = next(one for one in _methods(large, mpi, transfer, block) if one[1] == "independent")
    yield Case(
        f"size.{pattern.replace(' ', '')}.{short}.{mpi}", "size", "ior", arguments, p.ranks, mpi,
        method=method, pattern=pattern, disk_bytes=large.file_bytes, timeout_s=600,
        about=f"IOR, {pattern} per call, {p.ranks} ranks, a file {LARGER} times as large, fsync",
    )  # fmt: skip
    yield Case(
        f"ior.fpp.{mpi}", "shared-file", "ior", _own_file(p, "1m"), p.ranks, mpi,
        method=OWN_FILES, pattern="file per rank", disk_bytes=p.file_bytes, timeout_s=600,
        about="IOR, POSIX, a file per rank, 1 MiB per call, fsync (as in the Oakleaf-FX paper)",
    )  # fmt: skip


def _own_file(p: Profile, transfer: str) -> tuple[str, ...]:
    """A file for each rank; together they are as large as a shared one."""
    block = str(max(MIB, p.file_bytes // p.ranks // MIB * MIB))
    return ("-a", "POSIX", "-F", "-w", "-W", "-e", "-t", transfer, "-b", block, "-i", str(p.file_repetitions), "-o",
            "{file}")  # fmt: skip


def _fine(p: Profile) -> tuple[str, ...]:
    """IOR with pieces of 4 KiB, in which methods differ."""
    return ("-w", "-W", "-e", "-t", "4k", "-b", "16k", "--at-least", str(p.file_bytes), "--at-most", str(p.file_bytes),
            "-i", str(p.file_repetitions), "-o", "{file}")  # fmt: skip


def _strategies(p: Profile, mpi: str) -> Iterator[Case]:
    """As in the Catwalk-ROMIO paper: strategies with a buffer that is too small, and several sizes of the buffer."""
    quarter = max(MIB, p.file_bytes // 4)
    rows = [("immediate", quarter), ("journal", quarter)]
    rows += [("sort", size) for size in sorted({max(MIB, p.file_bytes // 16), quarter, p.file_bytes})]
    for strategy, buffer in rows:
        settings = ("--strategy", strategy, "--sort-buffer", str(buffer))
        yield Case(
            f"strategy.{strategy}.{format_bytes(buffer)}.{mpi}", "strategy", "ior", _fine(p), p.ranks, mpi,
            "mpi", settings, method=strategy, pattern="4 KiB", disk_bytes=2 * p.file_bytes, timeout_s=600,
            about=f"IOR, 4 KiB per call, {p.ranks} ranks, one file of {human_bytes(p.file_bytes)}, fsync",
            more={"sort_buffer": buffer, "file_bytes": p.file_bytes, "compared": buffer == quarter},
        )  # fmt: skip


def _mappings(p: Profile, mpi: str, processors: int) -> Iterator[Case]:
    """The placement of ranks, with fewer ranks than processors if there are more than two."""
    ranks = max(2, processors // 2)
    if p.name == "quick" or processors < 2:
        return
    library = CATALOGUE[mpi]
    for mapping in ("packed", "spread"):
        for method, millrace in ((f"{library} independent", ""), ("Millrace independent", "mpi")):
            name = f"mapping.{mapping}.{'millrace' if millrace else 'stock'}.{mpi}"
            yield Case(
                name, "mapping", "ior", _fine(p), ranks, mpi, millrace, method=method, pattern=mapping, mapping=mapping,
                disk_bytes=p.file_bytes, timeout_s=600,
                about=f"IOR, 4 KiB per call, {ranks} ranks on {processors} processors, one file, fsync",
            )  # fmt: skip


def _checkpoints(p: Profile, mpi: str) -> Iterator[Case]:
    square = max(n for n in (1, 4, 9, 16, 25, 36, 49, 64) if n <= p.ranks)  # BT needs a square number of ranks
    for mode in ("simple", "full"):
        arguments = ("-C", p.btio_class, "-m", mode, "-e", "--verify", "plain", "-i", str(p.file_repetitions),
                     "-o", "{file}")  # fmt: skip
        for method, millrace in ((CATALOGUE[mpi], ""), ("Millrace", "mpi")):
            yield Case(
                f"btio.{mode}.{method.lower()}.{mpi}", "checkpoint", "btio", arguments, square, mpi, millrace,
                method=method, pattern=f"BT-IO {mode}", disk_bytes=2 * GIB if p.btio_class == "B" else 512 * MIB,
                timeout_s=900, about=f"NAS BT-IO class {p.btio_class}, {mode}, {square} ranks, with sync",
            )  # fmt: skip


def _own_files(p: Profile, mpi: str, tools: Tools) -> Iterator[Case]:
    preload = tools.prefix.posix_preload
    sizes = ",".join(f"{size}m" for size in p.own_file_mib)
    for language in p.languages:
        for method in ("normal", "accelerated", "async"):
            arguments = ("-l", language, "-m", method, "-s", sizes, "-e", "-i", str(p.repetitions), "-o", "{folder}")
            case = Case(
                f"fpp.{language}.{method}.{mpi}", "file-per-process", "fpp", arguments, p.ranks, mpi,
                method=method, pattern=language, disk_bytes=max(p.own_file_mib) * MIB * p.ranks, timeout_s=900,
                about=f"A file per rank in {language.capitalize()}, {p.ranks} ranks, fsync",
            )  # fmt: skip
            if method != "normal":
                case = dataclasses.replace(case, arguments=(*arguments, "--preload", preload))
                if not os.path.isfile(preload):
                    case = case.unable(f"{preload} is missing: build or install Millrace again")
            yield case


def _inside(p: Profile, mpi: str) -> Iterator[Case]:
    arguments = ("-i", str(p.repetitions))
    arguments += ("-s", p.ipc_sizes) if p.ipc_sizes else ()
    arguments += ("-m", p.ipc_methods, "-b", "16m") if p.ipc_methods else ()
    yield Case(
        f"ipc.{mpi}", "ipc", "ipc", arguments, 2, mpi, timeout_s=900, about="Ways between two processes of a node",
    )  # fmt: skip


def cases(profile: Profile, tools: Tools, mpis: Iterable[str]) -> list[Case]:
    """All cases of a fitted profile, limits first; cases that cannot run here have the reason."""
    chosen = list(mpis)
    first = chosen[0] if chosen else ""
    found = list(_limits(profile, tools, first or "mpich"))
    found.append(dataclasses.replace(_hpcc(profile), ranks=tools.processors))
    if first and tools.program("geofem", first):
        found += _geofem(profile, first, tools.processors)
    if first and tools.program("mdtest", first):
        found += _metadata(profile, first)
    for mpi in chosen or ["mpich"]:
        for make in (_shared_files, _strategies, _checkpoints):
            found += make(profile, mpi)
        found += _mappings(profile, mpi, tools.processors)
    found += standard.cases(profile, tools, first or "mpich")
    found += _own_files(profile, first or "mpich", tools)
    found += _inside(profile, first or "mpich")
    found.append(Case("transfer", "device", "transfer", about="Copies to and from a device's memory"))
    return [_check(case, tools) for case in found]


def _check(case: Case, tools: Tools) -> Case:
    checks: tuple[Callable[[], str], ...] = (
        lambda: tools.why_not(case.program, case.mpi),
        lambda: _room("disk", case.disk_bytes, tools.disk_bytes, f"on the file system of {tools.target}"),
        lambda: _room("memory", case.memory_bytes, tools.memory_bytes, "available"),
    )
    for check in checks:
        case = case.unable(check())
    return case


def _room(what: str, needed: int, there: int, where: str) -> str:
    if needed <= there:
        return ""
    return (
        f"too little {what}: {human_bytes(needed)} are needed, and {human_bytes(2 * there)} are {where} (half is used)"
    )


def absent(tools: Tools, mpis: Iterable[str]) -> list[str]:
    """Parts of the suite that are not built, for the report."""
    first = next(iter(mpis), "mpich")
    parts = {"geofem": "GeoFEM-Cube (bench/geofem)", "mdtest": "MDTEST (bench/mdtest)"}
    return [text for name, text in parts.items() if tools.program(name, first) is None]
