# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""abi_test.py SONAME LIBRARY LIST [HEADER]: the library exports what LIST says, and needs libc alone.

With HEADER it also has the soname, a version for each symbol, and the header declares what LIST says.

--self-test shows that each of these would be noticed, with libraries compiled for it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

# glibc, in the parts that it came in before 2.34.
LIBC = re.compile(r"(lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux[\w-]*\.so\.\d+|linux-vdso\.so\.\d+)")
# Undefined symbols come from glibc (they carry its version), or from the MPI that the program has.
OTHERS = re.compile(r"(P?MPI_\w+|MPIX_\w+|MPIR_\w+|ompi_\w+|OMPI_C_\w+)")


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def names(library: str, which: str) -> list[list[str]]:
    return [line.split() for line in output("nm", "-D", which, library).splitlines()]


def problems(library: str, expected: set[str]) -> list[str]:
    found = []
    exported = {row[-1].split("@")[0] for row in names(library, "--defined-only") if row[-2] not in "Aa"}
    found += [f"exports {name}, which is not in the list" for name in sorted(exported - expected)]
    found += [f"does not export {name}" for name in sorted(expected - exported)]
    for row in names(library, "--undefined-only"):
        if row[-2] in "wv":  # may stay undefined; a static libstdc++ has some for transactional memory
            continue
        name, _, version = row[-1].partition("@")
        if not version.startswith(("GLIBC", "@GLIBC")) and not OTHERS.fullmatch(name):
            found.append(f"needs the symbol {name}, which is neither libc's nor MPI's")
    for line in output("readelf", "-d", library).splitlines():
        needed = re.search(r"\(NEEDED\).*\[(.*)\]", line)
        if needed and not LIBC.fullmatch(needed.group(1)):
            found.append(f"needs the library {needed.group(1)}")
        if "(RPATH)" in line or "(RUNPATH)" in line:
            found.append(f"has a search path: {line.split('[')[-1].rstrip(']')}")
    return found


class SelfTest(unittest.TestCase):
    def built(self, source: str, *options: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            library = f"{folder}/x.so"
            (Path(folder) / "x.c").write_text(source)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, f"{folder}/x.c", *options], check=True)
            return problems(library, {"good"})

    def test_what_is_right_passes(self):
        self.assertEqual(self.built('#include <stdio.h>\nint MPI_Init();int good(){puts("");return MPI_Init();}'), [])

    def test_missing_and_extra_exports(self):
        self.assertEqual(len(self.built("int other(){return 1;}")), 2)

    def test_foreign_symbol(self):
        self.assertEqual(len(self.built("int boost(); int good(){return boost();}")), 1)

    def test_foreign_library_and_search_path(self):
        needs = self.built("int good(){return 1;}", "-Wl,--no-as-needed", "-lgcc_s", "-Wl,-rpath,/opt/x")
        self.assertEqual(len(needs), 2, needs)


def linked_problems(name: str, library: str, expected: set[str], header: str) -> list[str]:
    """Of a library that programs link, not only load."""
    found = [f"{row[-1]} has no version" for row in names(library, "--defined-only") if not is_versioned(row)]
    if f"soname: [{name}]" not in output("readelf", "-d", library):
        found.append(f"its soname is not {name}")
    code = re.sub(r"/\*.*?\*/", "", Path(header).read_text(), flags=re.DOTALL)
    declared = set(re.findall(r"^MILLRACE_API[^;(]*?\b(\w+)\(", code, re.MULTILINE))
    found += [f"{name} is declared or listed, not both" for name in sorted(declared ^ expected)]
    return found


def is_versioned(row: list[str]) -> bool:
    return row[-2] in "Aa" or "@@MILLRACE_" in row[-1]


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    name, library, listed, *header = sys.argv[1:]
    expected = set(Path(listed).read_text().split())
    found = problems(library, expected)
    if header:
        found += linked_problems(name, library, expected, header[0])
    if Path(library).name != name:
        found.append(f"is called {Path(library).name}, not {name}")
    print("\n".join(f"{library}: {problem}" for problem in found) or f"{library} is as it should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
