# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""entries_test.py PROGRAM SYMBOLS: every Fortran entry of the MPI that PROGRAM links leads to a hooked C function.

Millrace hooks the C functions below the Fortran bindings (ADR 0005). That is enough if each Fortran entry, however
a compiler spells it (mpi_file_open_, mpi_file_open__, mpi_file_open, MPI_FILE_OPEN, and the same with pmpi and for
mpi_f08), calls its C function in a way that a preload can take. This follows the calls in the machine code of the
MPI's Fortran libraries. SYMBOLS is the list of hooks.
"""

from __future__ import annotations

import bisect
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIP = 77
ENTRY = re.compile(r"p?(mpi_\w+?)(_c)?(_f08)?(ts)?_{0,2}", re.I)  # of those in SYMBOLS
CALL = re.compile(
    r"^ *([0-9a-f]+):\s+(callq?|jmpq?|bl|b)\s+(?:0x)?([0-9a-f]+) <(\w+)((?:@[\w.@]+)?)(?:\+0x[0-9a-f]+)?>"
)


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def fortran_libraries(program: str) -> list[str]:
    """The libraries that the program needs and that have Fortran entries."""
    paths = re.findall(r"=> (/\S*mpi\S*)", output("ldd", program))
    return [path for path in paths if "mpi_file_open_" in output("nm", "-D", "--defined-only", path)]


class Library:
    """The functions of a library, as far as calls go: by address, because most have no name."""

    def __init__(self, path: str):
        rows = (line.split() for line in output("nm", "-D", "--defined-only", path).splitlines())
        # Address of each function that the library exports.
        self.exported = {row[2].split("@")[0]: int(row[0], 16) for row in rows if len(row) == 3 and row[1] in "TWi"}
        # (from, name of the entry in the linkage table or "", address): in ascending order.
        self.calls: list[tuple[int, str, int]] = []
        starts = set(self.exported.values())
        for line in output("objdump", "-d", "--no-show-raw-insn", path).splitlines():
            found = CALL.match(line)
            if not found:
                continue
            place, kind, target, name, via = found.groups()
            through_table = via.lower() == "@plt"
            self.calls.append((int(place, 16), name if through_table else "", int(target, 16)))
            if kind in ("call", "callq", "bl") and not through_table:
                starts.add(int(target, 16))
        self.starts = sorted(starts)

    def callees(self, start: int) -> tuple[set[str], set[int]]:
        """What the function that begins at `start` calls: names in the linkage table, addresses of its own."""
        after = bisect.bisect_right(self.starts, start)
        end = self.starts[after] if after < len(self.starts) else 1 << 62
        first = bisect.bisect_left(self.calls, (start, "", 0))
        last = bisect.bisect_left(self.calls, (end, "", 0))
        part = self.calls[first:last]
        names = {name for _, name, _ in part if name}
        return names, {target for _, name, target in part if not name and not start <= target < end}


def reaches(entry: str, wanted: set[str], libraries: list[Library]) -> bool:
    """Whether calls lead from an entry to one of `wanted` through a linkage table, where a preload takes them."""
    ahead = [(library, library.exported[entry]) for library in libraries if entry in library.exported]
    seen = set(ahead)
    while ahead:
        library, start = ahead.pop()
        names, targets = library.callees(start)
        if names & wanted:
            return True
        found = [(library, target) for target in targets]
        found += [(other, other.exported[name]) for name in names for other in libraries if name in other.exported]
        for node in found:
            if node not in seen:
                seen.add(node)
                ahead.append(node)
    return False


def main() -> int:
    program, listed = sys.argv[1:]
    if not shutil.which("objdump") or not Path(program).exists():
        print("skipped: objdump or the Fortran program is missing")
        return SKIP
    hooks = {name.lower(): name for name in Path(listed).read_text().split() if not name.startswith("P")}
    libraries = [Library(path) for path in fortran_libraries(program)]
    entries: dict[str, list[str]] = {}
    for name in sorted({name for library in libraries for name in library.exported}):
        function = ENTRY.fullmatch(name)
        if function and function.group(1).lower() in hooks:
            entries.setdefault(hooks[function.group(1).lower()], []).append(name)
    wrong = []
    for function, names in entries.items():
        wanted = {prefix + function + large for prefix in ("", "P") for large in ("", "_c")}
        wrong += [name for name in names if not reaches(name, wanted, libraries)]
    if reaches("mpi_file_open_", {"MPI_File_close", "PMPI_File_close"}, libraries):
        print("calls are followed too far: this test would find nothing")
        return 1
    missing = [name for low, name in hooks.items() if not low.endswith("_c") and name not in entries]
    spellings = {"lower_": 0, "lower__": 0, "lower": 0, "UPPER": 0, "f08": 0}
    for name in (name for names in entries.values() for name in names):
        tail = "f08" if "f08" in name else "lower" + name[len(name.rstrip("_")) :] if name.islower() else "UPPER"
        spellings[tail] = spellings.get(tail, 0) + 1
    print(f"{len(entries)} functions; entries by spelling: {spellings}")
    for name in wrong:
        print(f"{name} does not reach a hook")
    for name in missing:
        print(f"no Fortran entry for {name}")
    return 1 if wrong or missing or not spellings["lower_"] or not spellings["f08"] else 0


if __name__ == "__main__":
    sys.exit(main())
