# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import unittest

from harness import BIN, BenchTest, bounded


class Limit(BenchTest):
    def test_every_method_is_measured_verified_and_the_best_is_the_limit(self):
        for sync in ("fsync", "none"):
            status, out, err = bounded(
                [BIN / "limit", "-o", self.file, "-b", "9m", "-i", "2", "--depths", "1,4", "--sync", sync, "--no-warm"]
            )
            self.assertEqual(status, 0, err)
            document = json.loads(out)
            self.assertTrue(document["verified"])
            rates = {n: m["median_mib_s"] for n, m in document["methods"].items() if "median_mib_s" in m}
            self.assertLessEqual({"buffered", "paced"}, set(rates))
            self.assertEqual(document["limit_mib_s"], max(rates.values()))
            self.assertEqual(rates[document["best"]], document["limit_mib_s"])
            self.assertFalse(self.file.exists())

    def test_a_size_that_is_no_multiple_of_a_block_is_exact(self):
        status, _, err = bounded([BIN / "limit", "-o", self.file, "-b", "5000001", "-i", "1", "-k", "--no-warm"])
        self.assertEqual(status, 0, err)
        self.assertEqual(self.file.stat().st_size, 5000001)

    def test_bad_use_is_refused_with_a_reason(self):
        for arguments, expected in (
            ([], "--file is missing"),
            (["--sync", "maybe"], "neither fsync nor none"),
            (["--depths", "0"], "is not a whole number"),
            (["-Z"], "not expected: -Z"),
        ):
            done = subprocess.run([BIN / "limit", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr)

    def test_an_unwritable_path_fails_with_a_reason(self):
        status, _, err = bounded([BIN / "limit", "-o", "/nonexistent/file", "-b", "1m", "--no-warm"])
        self.assertEqual(status, 1)
        self.assertIn("cannot create /nonexistent/file", err)


if __name__ == "__main__":
    unittest.main()
