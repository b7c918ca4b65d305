# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""A run of pytest that skips all of its tests is a skip for ctest (77); every other run is what pytest says."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
SKIPPED = "import pytest\ndef test_skipped(): pytest.skip('why')\n"


def status_of(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_some.py"
        path.write_text(text)
        words = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", str(path)]
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        return subprocess.run(words, capture_output=True, cwd=folder, env=environment, check=False).returncode


class Skips(unittest.TestCase):
    def test_all_skipped(self):
        self.assertEqual(status_of(SKIPPED), 77)

    def test_some_passed(self):
        self.assertEqual(status_of(SKIPPED + "def test_passes(): pass\n"), 0)

    def test_some_failed(self):
        self.assertEqual(status_of(SKIPPED + "def test_fails(): assert False\n"), 1)

    def test_a_setup_failed(self):
        self.assertEqual(status_of(SKIPPED + "@pytest.fixture\ndef no(): assert False\ndef test_no(no): pass\n"), 1)


if __name__ == "__main__":
    unittest.main()
