# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""names_test.py LIBMILLRACE: the preload picks the implementation library for MPI libraries that are not here.

Each MPI library is a stand-in with the vendor's file name. It answers MPI_Get_library_version with the vendor's text.
The implementation libraries are stand-ins, too, and print their names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PRELOAD = ""
IMPLEMENTATIONS = ("mpich", "ompi", "abi")
# soname, text of MPI_Get_library_version, implementation
VENDORS = (
    ("libmpi_gnu_123.so.12", "MPI VERSION    : CRAY MPICH version 8.1.29.8 (ANL base 3.4a2)\\n", "mpich"),
    ("libmpi_cray.so.12", "MPI VERSION    : CRAY MPICH version 7.7.10 (ANL base 3.2)\\n", "mpich"),
    ("libmpi.so.12", "MVAPICH2 Version      :\\t2.3.7\\n", "mpich"),
    ("libmpi.so.12", "MVAPICH Version:\\t3.0\\n", "mpich"),
    ("libmpi.so.12", "MVAPICH Version:\\t4.1\\n", "mpich"),
    ("libmpi.so.12", "Intel(R) MPI Library 2021.16 for Linux* OS\\n", "mpich"),
    ("libmpi.so.12", "MPICH Version:\\t5.0.2\\n", "mpich"),
    ("libmpi.so.0", "FUJITSU MPI Library 4.0.0 (4.0.1fj4.0.0)", "ompi"),
    ("libmpi_ibm.so.3", "Open MPI v3.1.0, package: IBM Spectrum MPI, ident: 10.03.01.00rtm0\\n", "ompi"),
    ("libmpi.so.40", "Open MPI v5.0.11, package: Open MPI x Distribution, ident: 5.0.11\\n", "ompi"),
    ("libmpi_abi.so.1", "Open MPI v6.0.0, package: Open MPI x Distribution, ident: 6.0.0\\n", "abi"),
    ("libmpi_abi.so.0", "MPICH Version:\\t5.0.2\\n", "abi"),
    ("libmpi.so", "HPE MPT 2.23  08/26/20 02:54:49-root", None),
)
MPI = """
#include <stdio.h>
#include <string.h>
int PMPI_Get_library_version(char* text, int* size) { strcpy(text, "%s"); *size = (int)strlen(text); return 0; }
int MPI_File_get_size(void* file, long long* size) { puts("real"); return file == 0 && size == 0 ? 0 : 1; }
"""
PROGRAM = "int MPI_File_get_size(void*, long long*); int main(void) { return MPI_File_get_size(0, 0); }"
# Its answer 1 means that it does not fit, so all calls go to the MPI library.
IMPLEMENTATION = '#include <stdio.h>\nint millrace_attach(const void* a) { puts("%s"); return a != 0; }'


def compile_c(target: Path, source: str, *options: str) -> None:
    subprocess.run(["cc", "-x", "c", "-", "-o", target, *options], input=source, text=True, check=True)


class Names(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copy(PRELOAD, self.folder / "libmillrace.so")
        for name in IMPLEMENTATIONS:
            compile_c(self.folder / f"libmillrace-{name}.so", IMPLEMENTATION % name, "-shared", "-fPIC")

    def run_with(self, soname: str, text: str) -> subprocess.CompletedProcess:
        library, program = self.folder / soname, self.folder / "program"
        compile_c(library, MPI % text, "-shared", "-fPIC", f"-Wl,-soname,{soname}")
        compile_c(program, PROGRAM, f"-L{self.folder}", f"-l:{soname}", f"-Wl,-rpath,{self.folder}")
        environment = {**os.environ, "LD_PRELOAD": str(self.folder / "libmillrace.so")}
        return subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60, check=True)

    def test_picks_the_implementation_of_every_vendor(self):
        for soname, text, implementation in VENDORS:
            with self.subTest(soname=soname, text=text):
                done = self.run_with(soname, text)
                self.assertEqual(done.stdout.split(), [*filter(None, [implementation]), "real"], done.stderr)
                unknown = "does not know this MPI library" in done.stderr
                self.assertEqual(unknown, implementation is None, done.stderr)


if __name__ == "__main__":
    PRELOAD = sys.argv.pop(1)
    unittest.main()
