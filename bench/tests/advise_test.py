# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""How run_advise.py judges advice; it measures nothing here."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import run_advise  # noqa: E402


class Advise(unittest.TestCase):
    def test_the_piece_changes_and_the_amount_does_not(self):
        words = ["-w", "-t", "4k", "-b", "16k", "--at-least", "32m", "-i", "3", "-o", "{file}"]
        changed = run_advise.vary(words, 512, "/x/data", 1)
        self.assertEqual(changed, ["-w", "-t", "512", "-b", "2048", "--at-least", "32m", "-i", "1", "-o", "/x/data"])
        self.assertEqual(run_advise.bytes_of(changed, 4), 32 << 20)

    def test_files_per_rank_keep_their_size(self):
        words = ["-F", "-t", "1m", "-b", "8m", "-i", "3", "-o", "{file}"]
        changed = run_advise.vary(words, 512, "/x/data", 1)
        self.assertEqual(changed[changed.index("-b") + 1], "8m")
        self.assertEqual(run_advise.bytes_of(changed, 4), 32 << 20)

    def test_a_ranking_holds_but_for_ties(self):
        predicted = {"a": 1.0, "b": 2.0, "c": 3.0}
        self.assertTrue(run_advise.ranking_holds(predicted, {"a": 1.0, "b": 2.0, "c": 2.0}, 0.1))
        self.assertTrue(run_advise.ranking_holds(predicted, {"a": 1.0, "b": 2.1, "c": 2.0}, 0.1))
        self.assertFalse(run_advise.ranking_holds(predicted, {"a": 1.0, "b": 3.0, "c": 2.0}, 0.1))
        self.assertFalse(run_advise.ranking_holds(predicted, {"a": 3.5, "b": 2.0, "c": 3.0}, 0.1))


if __name__ == "__main__":
    unittest.main()
