# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""run_checkpoint.py: all ways that are here are measured, verified and reported."""

import json
import sys
import unittest

from harness import BENCH, BUILD, BenchTest, bounded

try:
    import numpy  # noqa: F401
except ImportError:
    print("skipped: no NumPy")
    sys.exit(77)


class Checkpoint(BenchTest):
    def test_all_ways_are_measured(self):
        where = ["--build", BUILD, "--dir", self.directory, "--out", self.directory / "out"]
        small = ["--gib", "0.01", "--rounds", "1", "--arrays", "7"]
        status, out, err = bounded([sys.executable, BENCH / "run_checkpoint.py", *small, *where])
        self.assertEqual(status, 0, err + out)
        document = json.loads((self.directory / "out/checkpoint.json").read_text())
        self.assertEqual((document["schema"], document["version"]), ("millrace-checkpoint", 1))
        self.assertLessEqual({"stream", "numpy.savez", "millrace"}, set(document["rates_mib_s"]))
        for found in document["rates_mib_s"].values():
            self.assertTrue(all(rate > 0 for rates in found.values() for rate in rates))
        self.assertEqual(set(document["waits_s"]), {"copied", "borrowed"})
        self.assertEqual(document["wrong"], [])
        self.assertIn("| millrace |", (self.directory / "out/checkpoint.md").read_text())
        self.assertEqual([path.name for path in self.directory.iterdir()], ["out"])

    def test_bad_options_are_told(self):
        status, _, err = bounded([sys.executable, BENCH / "run_checkpoint.py", "--gib", "0"])
        self.assertEqual(status, 2)
        self.assertIn("more than 0", err)


if __name__ == "__main__":
    unittest.main()
