# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The libraries that an ELF program needs, read from its headers. Unlike ldd, this runs nothing."""

from __future__ import annotations

import os
import struct

TYPE_CHECKING = False  # importing typing takes longer than `run` may take
if TYPE_CHECKING:
    from collections.abc import Iterator

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 1, 5, 15, 29
_MAX_LIBRARIES = 512  # of one program; far more than any program has
_MAX_OFFSET = 1 << 62
_MAX_TABLE = 1 << 20  # the most bytes of one table in a header

_CACHE, _CACHE_BEGIN, _CACHE_HEADER = "/etc/ld.so.cache", b"glibc-ld.so.cache1.1", 48
_CACHE_ENTRY = struct.Struct("=iIIIQ")  # flags, offset of the name, offset of the path, kernel, processor

# The begin of a soname -> the ABI. Intel MPI, MVAPICH and Cray MPICH (libmpi_gnu_123.so.12, libmpi_cray.so.12) have
# MPICH's. IBM Spectrum MPI (libmpi_ibm) and Fujitsu's MPI (libmpi.so.0) are Open MPIs. Open MPI 1.10 had 12, too.
_FAMILIES = (
    (r"lib(mpich\w*|pmpich\w*)\.so", "mpich"),
    (r"libmpi_abi\.so", "abi"),
    (r"libmpi_ibm(_\w+)?\.so", "openmpi"),
    (r"libmpi(fort|cxx)?(?!_mpifh|_usempi)(_\w+)?\.so\.12\b", "mpich"),
    (r"libmpi(_\w+)?\.so\.[2-9]\d\b", "openmpi"),
    (r"libmpi\.so\.0\b", "openmpi"),
    (r"libopen-(rte|pal)\.so", "openmpi"),
)
_BEGINNINGS = ("libmpi", "libpmpi", "libopen-")  # common begins of all these names


class ElfError(ValueError):
    """Not an ELF file that can be read."""


class Elf:
    """The part of an ELF file that the dynamic loader looks at."""

    def __init__(
        self,
        path: str,
        bits: int,
        machine: int,
        interpreter: str,
        needed: tuple[str, ...],
        run_paths: tuple[str, ...],
    ) -> None:
        self.path, self.bits, self.machine, self.interpreter = path, bits, machine, interpreter
        self.needed, self.run_paths = needed, run_paths

    @property
    def static(self) -> bool:
        """True for a program without a dynamic loader, which no preload can reach."""
        return not self.interpreter and not self.needed


def read(path: str) -> Elf:
    """Reads `path`; raises ElfError if it is not ELF or broken, OSError if it cannot be read."""
    with open(path, "rb") as file:
        ident = file.read(64)
        if len(ident) < 52 or ident[:4] != b"\x7fELF":
            raise ElfError(f"{path} is not an ELF file")
        try:
            return _parse(path, file, ident)
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise ElfError(f"{path} is a damaged ELF file: {error}") from None


def _parse(path, file, ident) -> Elf:
    bits = 64 if ident[4] == 2 else 32
    order = "<" if ident[5] == 1 else ">"
    machine = struct.unpack_from(order + "H", ident, 18)[0]
    if bits == 64:
        table, entry_size, entries = (
            *struct.unpack_from(order + "Q", ident, 32),
            *struct.unpack_from(order + "HH", ident, 54),
        )
    else:
        table, entry_size, entries = (
            *struct.unpack_from(order + "I", ident, 28),
            *struct.unpack_from(order + "HH", ident, 42),
        )
    segments = [_segment(_at(file, table + i * entry_size, entry_size), bits, order) for i in range(entries)]
    interpreter = ""
    dynamic: list[tuple[int, int]] = []
    for kind, offset, _, size in segments:
        if kind == _PT_INTERP:
            interpreter = _at(file, offset, size).rstrip(b"\0").decode()
        elif kind == _PT_DYNAMIC:
            width = "q" if bits == 64 else "i"
            dynamic = list(struct.iter_unpack(order + width + width.upper(), _at(file, offset, size)))
    strings = next((value for tag, value in dynamic if tag == _DT_STRTAB), 0)
    base = next(
        (
            offset + strings - address
            for kind, offset, address, size in segments
            if kind == _PT_LOAD and address <= strings < address + size
        ),
        None,
    )

    def texts(tag: int) -> Iterator[str]:
        for found, value in dynamic:
            if found == 0:
                return
            if found == tag and base is not None:
                if not 0 <= base + value <= _MAX_OFFSET:
                    raise IndexError("a name lies beyond any file")
                file.seek(base + value)
                yield file.read(4096).split(b"\0", 1)[0].decode()

    paths = list(texts(_DT_RUNPATH)) or list(texts(_DT_RPATH))
    run_paths = tuple(p for text in paths for p in text.split(":") if p)
    return Elf(path, bits, machine, interpreter, tuple(texts(_DT_NEEDED)), run_paths)


def _at(file, offset: int, size: int) -> bytes:
    if offset > _MAX_OFFSET:
        raise IndexError("an offset is beyond any file")
    file.seek(offset)
    data = file.read(min(size, _MAX_TABLE))
    if len(data) < min(size, _MAX_TABLE):
        raise IndexError("it ends within a header")
    return data


def _segment(data: bytes, bits: int, order: str) -> tuple[int, int, int, int]:
    """Type, file offset, address, size in the file."""
    if bits == 64:
        kind, _, offset, address, _, size = struct.unpack_from(order + "IIQQQQ", data)
    else:
        kind, offset, address, _, size = struct.unpack_from(order + "IIIII", data)
    return kind, offset, address, size


_libraries: dict[str, list[str]] = {}  # the result of loader_cache(), after its first call


def loader_cache() -> dict[str, list[str]]:
    """soname -> files, as ldconfig has found them."""
    if not _libraries:
        _libraries.update(_read_loader_cache())
    return _libraries


def _read_loader_cache() -> dict[str, list[str]]:
    """/etc/ld.so.cache in glibc's format 1.1 (its dl-cache.h)."""
    try:
        with open(_CACHE, "rb") as file:
            data = file.read()
        table = data[data.index(_CACHE_BEGIN) :]  # some files begin with a table of the older format
        (count,) = struct.unpack_from("=I", table, len(_CACHE_BEGIN))
        entries = table[_CACHE_HEADER : _CACHE_HEADER + count * _CACHE_ENTRY.size]
        libraries: dict[str, list[str]] = {}
        for _, name, path, _, _ in _CACHE_ENTRY.iter_unpack(entries):
            libraries.setdefault(_text(table, name), []).append(_text(table, path))
    except (OSError, ValueError, struct.error):
        return {}  # without the cache, only the usual folders are searched
    return libraries


def _text(table: bytes, begin: int) -> str:
    return os.fsdecode(table[begin : table.index(b"\0", begin)])


def _resolve(name: str, owner: Elf, library_path: str) -> Elf | None:
    """The file that the loader would probably take for `name`."""
    if "/" in name:
        places = [name]
    else:
        origin = os.path.dirname(os.path.realpath(owner.path))
        folders = [p.replace("$ORIGIN", origin).replace("${ORIGIN}", origin) for p in owner.run_paths]
        folders += [p for p in library_path.split(":") if p]
        places = [os.path.join(folder, name) for folder in folders]
        places += loader_cache().get(name, [])
        machine = os.uname().machine
        places += [
            os.path.join(folder, name)
            for folder in (
                f"/lib/{machine}-linux-gnu",
                f"/usr/lib/{machine}-linux-gnu",
                "/lib64",
                "/usr/lib64",
                "/lib",
                "/usr/lib",
                "/usr/local/lib",
            )
        ]
    for place in places:
        try:
            library = read(place)
        except (OSError, ElfError):
            continue
        if (library.bits, library.machine) == (owner.bits, owner.machine):
            return library
    return None


def libraries(program: Elf, library_path: str = "") -> list[str]:
    """The names of all libraries that the program loads at its start, its own first."""
    seen: dict[str, None] = {}
    queue = [program]
    while queue and len(seen) < _MAX_LIBRARIES:
        owner = queue.pop(0)
        for name in owner.needed:
            if name in seen:
                continue
            seen[name] = None
            found = _resolve(name, owner, library_path)
            if found is not None:
                queue.append(found)
    return list(seen)


def family_of(name: str) -> str | None:
    """`mpich`, `openmpi` or `abi` where the library's name says so."""
    base = os.path.basename(name)
    if not base.startswith(_BEGINNINGS):
        return None
    import re

    return next((family for pattern, family in _FAMILIES if re.match(pattern, base)), None)


def is_mpi(name: str) -> bool:
    """True for the C library of an MPI, known or not, and false for its companions (Fortran, C++, devices)."""
    import re

    return re.match(r"lib(mpi|mpich)(_(?!mpifh|usempi|java|cxx|gtl)\w+)?\.so", os.path.basename(name)) is not None


def mpi_family(program: Elf, library_path: str = "") -> tuple[str | None, str]:
    """The MPI that the program links, directly or through a library, and that library."""
    for name in libraries(program, library_path):
        family = family_of(name)
        if family:
            return family, name
    return None, ""
