# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one file of tests, or says why this machine cannot (exit status 77)."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIP = 77

if __name__ == "__main__":
    try:
        import pytest
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(SKIP)
    if os.geteuid() != 0:
        print("skipped: mounts need root")
        sys.exit(SKIP)
    done = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", str(HERE / sys.argv[1]), *sys.argv[2:]])
    sys.exit(SKIP if done == pytest.ExitCode.NO_TESTS_COLLECTED else done)
