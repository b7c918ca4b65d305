# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The package from the source tree."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture
def dice():
    """Random numbers whose seed a failure shows, and the environment sets."""
    seed = int(os.environ.get("MILLRACE_TEST_SEED", random.randrange(1 << 32)))
    print(f"MILLRACE_TEST_SEED={seed}")
    return random.Random(seed)


@pytest.fixture
def program(tmp_path):
    """Starts Python code in a process of its own."""

    def start(code: str, *words: object, **more: object) -> subprocess.Popen:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        command = [sys.executable, "-c", code, *map(str, words)]
        return subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, **more
        )

    return start


@pytest.fixture
def descriptors():
    """Fails the test if it leaves descriptors open."""
    before = set(os.listdir("/proc/self/fd"))
    yield
    after = set(os.listdir("/proc/self/fd"))
    assert len(after) <= len(before), "descriptors stayed open"
