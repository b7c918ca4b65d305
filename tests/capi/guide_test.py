# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""guide_test.py SOURCE LIBRARY CC CXX [FC]: the examples of docs/reference compile, without warnings, and run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = re.compile(r"^```(c|cpp|fortran)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUFFIX = {"c": "c", "cpp": "cpp", "fortran": "f90"}
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def main() -> int:
    source, library = Path(sys.argv[1]), Path(sys.argv[2])
    compilers = dict(zip(("c", "cpp", "fortran"), sys.argv[3:], strict=False))
    options = {
        "c": ["-std=c99", *STRICT],
        "cpp": ["-std=c++17", *STRICT],
        "fortran": ["-std=f2008", "-Wall", "-Werror"],
    }
    include = source / "include"
    module = [include / "millrace/millrace.f90"]
    pages = [source / f"docs/reference/{name}.md" for name in ("c", "cpp", "fortran")]
    examples = [one for page in pages for one in EXAMPLE.findall(page.read_text())]
    assert {language for language, _ in examples} == set(SUFFIX), "an example for each language"
    for number, (language, text) in enumerate(examples):
        if language not in compilers:
            print(f"no compiler for {language}")
            continue
        with tempfile.TemporaryDirectory(prefix="millrace-guide-") as folder:
            program = Path(folder) / f"example.{SUFFIX[language]}"
            program.write_text(text)
            command = [compilers[language], *options[language], f"-I{include}", *(module * (language == "fortran"))]
            command += [program, "-o", "example", f"-L{library.parent}", "-lmillrace_io"]
            subprocess.run(command, cwd=folder, timeout=400, check=True)
            environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
            done = subprocess.run(
                ["./example"], cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False
            )
            if done.returncode != 0:
                print(f"example {number} ({language}): status {done.returncode}\n{done.stdout}{done.stderr}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
