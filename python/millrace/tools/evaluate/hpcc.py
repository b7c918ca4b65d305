# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The HPC Challenge benchmark: its input for the size of this machine, and its own summary."""

from __future__ import annotations

import ctypes.util
import math
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millrace.tools.evaluate.errors import BadOutput

ABSENT = "hpcc is not installed (Debian and Ubuntu: apt-get install hpcc libopenblas0-serial)"
INPUT, OUTPUT = "hpccinf.txt", "hpccoutf.txt"
# Parts of the paths of fast BLAS libraries; Debian's reference BLAS has none of them.
_FAST_BLAS = ("openblas", "mkl", "blis", "atlas", "armpl", "essl", "nvpl")
_BLOCK = 192
# The format of HPL: each line is a value and a comment. PTRANS has no sizes of its own.
_TEMPLATE = """HPLinpack benchmark input file
written by millrace evaluate
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{n}          Ns
1            # of NBs
{nb}         NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{p}          Ps
{q}          Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
1200 10000 30000        values of N
0            number of additional blocking sizes for PTRANS
40 9 8 13 13 20 16 32 64        values of NB
"""


@dataclass(frozen=True)
class Problem:
    """HPL's N, NB and process grid."""

    n: int
    nb: int
    p: int
    q: int

    def text(self) -> str:
        return _TEMPLATE.format(n=self.n, nb=self.nb, p=self.p, q=self.q)


def program() -> str | None:
    return shutil.which("hpcc")


def grid(ranks: int) -> tuple[int, int]:
    """P x Q as square as possible with P <= Q, as HPL's authors advise."""
    p = next(p for p in range(math.isqrt(ranks), 0, -1) if ranks % p == 0)
    return p, ranks // p


def problem(ranks: int, matrix_bytes: int) -> Problem:
    """The largest multiple of the block whose matrix takes at most `matrix_bytes`."""
    n = max(1, math.isqrt(matrix_bytes // 8) // _BLOCK) * _BLOCK
    return Problem(n, _BLOCK, *grid(ranks))


def blas() -> str:
    """The file of libblas.so.3 on this machine, or a remark."""
    name = ctypes.util.find_library("blas")
    for folder in ("/usr/lib", "/usr/lib64", f"/usr/lib/{os.uname().machine}-linux-gnu"):
        path = Path(folder) / (name or "libblas.so.3")
        if path.exists():
            return str(path.resolve())
    return name or "unknown"


def is_fast(library: str) -> bool:
    return any(word in library.lower() for word in _FAST_BLAS)


def prepare(folder: Path, more: dict[str, Any]) -> None:
    (folder / INPUT).write_text(problem(int(more["ranks"]), int(more["matrix_bytes"])).text(), encoding="utf-8")


def read(folder: Path, stdout: str) -> dict[str, Any]:
    return parse((folder / OUTPUT).read_text(encoding="utf-8", errors="replace"))


def parse(text: str) -> dict[str, Any]:
    """The summary of hpccoutf.txt, and HPL's check of its result."""
    begin, end = text.find("Begin of Summary section."), text.find("End of Summary section.")
    if begin < 0 or end < begin:
        raise BadOutput("hpccoutf.txt has no summary: hpcc ended early")
    summary: dict[str, str] = {}
    for line in text[begin:end].splitlines()[1:]:
        name, equals, value = line.partition("=")
        if equals:
            summary[name.strip()] = value.strip()
    residuals = re.findall(r"=\s*([\d.eE+-]+)\s*\.*\s*(PASSED|FAILED)", text)
    failed = [value for value, verdict in residuals if verdict == "FAILED"]
    success = summary.get("Success") == "1"
    return {
        "schema": "millrace-bench",
        "version": 1,
        "benchmark": "hpcc",
        "summary": summary,
        "verified": success and not failed and bool(residuals),
        "residuals": [float(value) for value, _ in residuals],
    }
