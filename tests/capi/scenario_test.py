# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""scenario_test.py FUNCTIONS FAKE_CUDA_FOLDER PROGRAM...: each program on each device, and all files alike."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

DEVICES = ("host", "process", "cuda")


def main() -> int:
    functions, fake_cuda, *programs = sys.argv[1:]
    environment = {**os.environ, "LD_LIBRARY_PATH": fake_cuda}
    failed = False
    for device in DEVICES:
        written = set()
        for program in programs:
            with tempfile.TemporaryDirectory(prefix="millrace-capi-") as folder:
                command = [program, device, folder, functions]
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=400, check=False
                )
                well = done.returncode == 0 and done.stdout.strip() == "all is well" and done.stderr == ""
                written |= {path.read_bytes() for path in Path(folder).iterdir()}
            if not well:
                print(f"{Path(program).name} {device}: status {done.returncode}\n{done.stdout}{done.stderr}")
                failed = True
        if len(written) != 1:
            print(f"{device}: the programs have left {len(written)} different files")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
