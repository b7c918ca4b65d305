#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Puts the pure-Python packages that the `millrace` command imports into FOLDER, beside the command's own.

So an installed prefix runs wherever there is a python3, and can be moved.
"""

import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = ["typer", "rich", "tomli"]
# Releases whose own dependencies are pure Python as well.
WANTED = ["typer>=0.12,<0.16", "rich>=13", "tomli>=2"]
# Only wheels that fit every platform and every Python from 3.10.
PURE = ["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none", "--python-version=3.10"]


def main() -> int:
    folder = Path(sys.argv[1])
    if all((folder / name).is_dir() for name in PACKAGES):
        return 0
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-compile", "--upgrade", "--target", str(folder), *PURE, *WANTED]
    if subprocess.run(command, check=False).returncode == 0:
        shutil.rmtree(folder / "bin", ignore_errors=True)  # their commands, which name this machine's Python
        return 0
    print(
        f"vendor: {', '.join(PACKAGES)} could not be fetched; bin/millrace works only where python3 has them itself",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
