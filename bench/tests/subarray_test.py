# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import harness
from harness import BenchTest, in_turn, mpis


class Subarray(BenchTest):
    def check_same(self, dims, grids, kinds, size):
        contents = set()
        for mpi in in_turn("subarray"):
            for ranks, grid in grids:
                for kind in kinds:
                    with self.subTest(mpi=mpi, grid=grid, kind=kind):
                        document = self.run_ok(
                            "subarray",
                            mpi,
                            ranks,
                            "-d",
                            dims,
                            "-g",
                            grid,
                            *kind,
                            "-W",
                            "-r",
                            "-R",
                            "-k",
                            "--no-warm",
                            "-o",
                            self.file,
                        )
                        self.assertTrue(document["verified"])
                        contents.add(self.file.read_bytes())
        self.assertEqual(len(contents), 1)
        self.assertEqual(len(contents.pop()), size)

    def test_bricks_give_the_same_file_for_all_decompositions(self):
        grids = [(1, "1x1x1"), (4, "2x2x1"), (4, "1x2x2"), (3, "3x1x1"), (6, "1x3x2")]
        kinds = [["--ghost", "1"], ["-c", "-e"], ["--pieces", "whole", "-c", "--ghost", "2"]]
        self.check_same("7x10x13", grids, kinds, 7 * 10 * 13 * 8)

    def test_blocks_of_four_dimensions_give_the_same_file(self):
        self.check_same("4x5x6x7", [(1, "1x1x1x1"), (4, "2x1x1x2")], [[], ["-c", "--ghost", "1"]], 4 * 5 * 6 * 7 * 8)

    def test_elements_may_have_any_size(self):
        document = self.run_ok(
            "subarray",
            mpis("subarray")[0],
            4,
            "-d",
            "5x9",
            "--element",
            "3",
            "-W",
            "-r",
            "-R",
            "--no-warm",
            "-o",
            self.file,
        )
        self.assertEqual(document["bytes"], 5 * 9 * 3)
        self.assertTrue(document["verified"])

    def test_bad_use_is_refused_with_a_reason(self):
        self.assert_refused("makes 4 blocks for 1 ranks", "subarray", "-d", "8x8", "-g", "2x2")
        self.assert_refused("as many dimensions", "subarray", "-d", "8x8", "-g", "1x1x1")
        self.assert_refused("is not a whole number", "subarray", "-d", "8xx8")
        self.assert_refused("-R needs -r", "subarray", "-R")
        self.assert_refused("not expected: --quux", "subarray", "--quux")


if __name__ == "__main__":
    harness.main("subarray")
