# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""How run_advise.py judges advice; it measures nothing here."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import run_advise  # noqa: E402


class Advise(unittest.TestCase):
    def test_a_shared_file_gets_the_applications_piece_and_amount(self):
        words = ["-w", "-t", "4k", "-b", "16k", "--at-least", "32m", "--at-most", "32m", "-i", "9", "-o", "{file}"]
        changed = run_advise.vary(words, run_advise.described()[1], "/x/data")
        amount = str(64 << 20)
        expected = ["-w", "-t", "2048", "-b", "8192", "--at-least", amount, "--at-most", amount, "-i", "7"]
        self.assertEqual(changed, [*expected, "-o", "/x/data"])

    def test_files_per_rank_share_the_amount(self):
        words = ["-F", "-t", "1m", "-b", "8m", "-i", "3", "-o", "{file}"]
        for asked in run_advise.described():
            changed = run_advise.vary(words, asked, "/x/data")
            self.assertEqual(int(changed[changed.index("-b") + 1]) * asked.ranks, asked.checkpoint_bytes)

    def test_six_applications_are_described(self):
        found = run_advise.described()
        self.assertEqual(len({(a.piece_bytes, a.checkpoint_bytes, a.ranks) for a in found}), 6)
        for asked in found:
            self.assertEqual(asked.checkpoint_bytes % (4 * asked.piece_bytes * asked.ranks), 0)

    def test_a_ranking_holds_but_for_ties(self):
        predicted = {"a": 1.0, "b": 2.0, "c": 3.0}
        self.assertTrue(run_advise.ranking_holds(predicted, {"a": 1.0, "b": 2.0, "c": 2.0}, 0.1))
        self.assertTrue(run_advise.ranking_holds(predicted, {"a": 1.0, "b": 2.1, "c": 2.0}, 0.1))
        self.assertFalse(run_advise.ranking_holds(predicted, {"a": 1.0, "b": 3.0, "c": 2.0}, 0.1))
        self.assertFalse(run_advise.ranking_holds(predicted, {"a": 3.5, "b": 2.0, "c": 3.0}, 0.1))


if __name__ == "__main__":
    unittest.main()
