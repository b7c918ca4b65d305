# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The package from the source tree."""

import os
import random
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MILLRACE_PREFIX", ROOT / "build"))
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture
def tmp_path():
    """In memory where that can be: what is tested does not depend on the disk, and a busy one makes it slow."""
    memory = Path("/dev/shm")
    where = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="arrays-", dir=where) as folder:
        yield Path(folder)


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


class Child:
    """A fork of this process, which has everything loaded; what it writes to its descriptor, we read."""

    def __init__(self, work):
        reading, writing = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            status = 1
            try:
                os.close(reading)
                work(writing)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(writing)
        self.output = os.fdopen(reading)

    def end(self, with_signal=None):
        """(what it has written and was not read, its exit status, negative for a signal)."""
        if with_signal is not None:
            os.kill(self.process, with_signal)
        rest = self.output.read()
        self.output.close()
        return rest, os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.fixture
def descriptors():
    """Fails the test if it leaves descriptors open."""
    before = set(os.listdir("/proc/self/fd"))
    yield
    after = set(os.listdir("/proc/self/fd"))
    assert len(after) <= len(before), "descriptors stayed open"
