# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The programs that measure what the machine itself can do: memory, flops, link, metadata."""

import json
import os
import platform
import re
import shutil
import tempfile
import unittest

from harness import BIN, BenchTest, bounded, in_turn


def document(program, *arguments):
    status, out, err = bounded([BIN / program, *arguments])
    assert status == 0, err
    return json.loads(out)


class Memory(BenchTest):
    def test_every_loop_is_checked_and_the_best_pass_of_the_better_form_counts(self):
        found = document("memory", "-b", "1000k", "-i", "3", "-t", "3")
        self.assertTrue(found["verified"])
        for loop, best in found["best_gb_s"].items():
            samples = [x for run in found["runs"] if run["loop"] == loop for x in run["samples_gb_s"]]
            self.assertEqual(best, max(samples), loop)
            self.assertGreater(best, 0)

    def test_triad_counts_three_arrays_and_read_one(self):
        found = document("memory", "-b", "8000", "-i", "1")
        counted = {run["loop"]: run["bytes"] for run in found["runs"]}
        self.assertEqual(counted, {"read": 8000, "copy": 16000, "scale": 16000, "add": 24000, "triad": 24000})

    def test_bad_use_is_refused_with_a_reason(self):
        for arguments, expected in ((["-b", "5"], "at least 4k"), (["-t", "0"], "is not a whole number")):
            status, out, err = bounded([BIN / "memory", *arguments])
            self.assertEqual((status, out), (2, ""))
            self.assertIn(expected, err)

    def test_arrays_that_do_not_fit_are_refused_with_a_reason(self):
        status, _, err = bounded([BIN / "memory", "-b", "1000000g"])
        self.assertEqual(status, 1)
        self.assertIn("not enough memory", err)


class Flops(BenchTest):
    def test_the_peak_is_the_fastest_loop(self):
        found = document("flops", "-m", "5", "-i", "3", "-t", "2")
        fastest = {loop["isa"]: loop["all_threads_gflops"]["max"] for loop in found["loops"]}
        self.assertEqual(found["peak_gflops"], max(fastest.values()))
        self.assertEqual(fastest[found["best"]], found["peak_gflops"])
        self.assertTrue(found["verified"])

    def test_nothing_but_the_chains_runs_in_a_loop(self):
        """Chains that a compiler left in memory measured half of the peak."""
        tool = shutil.which("objdump")
        if tool is None or platform.machine() != "x86_64":
            self.skipTest("objdump of x86-64 only")
        text = bounded([tool, "-d", "--no-show-raw-insn", BIN / "flops"])[1]
        found = [line.split(None, 2)[2] for line in text.splitlines() if re.search(r"\tvfmadd\w+ .*%[yz]mm", line)]
        self.assertEqual([operands for operands in found if "(" in operands], [])
        self.assertEqual([sum(name in operands for operands in found) for name in ("%ymm", "%zmm")], [12, 12])


class Link(BenchTest):
    def test_one_pair_and_all_pairs_are_measured_and_checked(self):
        for mpi in in_turn("link"):
            found = self.run_ok("link", mpi, 4, "-s", "8,100k", "-i", "1", "-b", "400")
            self.assertTrue(found["verified"])
            self.assertEqual([size["bytes"] for size in found["sizes"]], [8, 102400])
            for size in found["sizes"]:
                self.assertEqual((size["one_pair"]["pairs"], size["all_pairs"]["pairs"]), (1, 2))
                self.assertGreater(size["one_pair"]["one_way_us"]["median"], 0)

    def test_a_single_rank_is_refused(self):
        self.assert_refused("at least two ranks", "link")


class Metadata(BenchTest):
    def test_every_operation_of_one_process_has_a_rate_and_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            found = document("metadata", "-n", "20", "-i", "2", "-d", folder)
            self.assertEqual(os.listdir(folder), [])
        rates = {row["operation"]: row["per_s"] for row in found["operations"]}
        self.assertTrue({"dir_create", "dir_remove", "file_create", "file_stat", "file_remove"} <= set(rates))
        for row in found["operations"]:
            self.assertEqual(len(row["samples_per_s"]), 2)
            self.assertEqual(row["per_s"]["max"], max(row["samples_per_s"]))
        self.assertTrue(found["verified"])

    def test_bad_use_is_refused_with_a_reason(self):
        for arguments, expected in ((["-d", "/nowhere"], "no folder can be made"), (["-n", "0"], "not a whole number")):
            status, out, err = bounded([BIN / "metadata", *arguments])
            self.assertEqual((status, out), (2, ""))
            self.assertIn(expected, err)


if __name__ == "__main__":
    unittest.main()
