# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import harness
from harness import BenchTest, mpis


class Btio(BenchTest):
    def test_the_file_is_the_same_for_all_ranks_modes_and_libraries(self):
        contents = set()
        for mpi in mpis("btio"):
            for mode in ("full", "simple"):
                for ranks in (1, 4, 9, 16):
                    with self.subTest(mpi=mpi, mode=mode, ranks=ranks):
                        document = self.run_ok(
                            "btio", mpi, ranks, "-C", "S", "-m", mode, "-k", "--no-warm", "-o", self.file
                        )
                        self.assertTrue(document["verified"])
                        contents.add(self.file.read_bytes())
        self.assertEqual(len(contents), 1)
        self.assertEqual(len(contents.pop()), 12 * 40 * 12**3)

    def test_calls_are_those_of_bt(self):
        mpi = mpis("btio")[0]
        full = self.run_ok("btio", mpi, 4, "-C", "S", "--no-warm", "-o", self.file)
        simple = self.run_ok("btio", mpi, 4, "-C", "S", "-m", "simple", "-e", "--no-warm", "-o", self.file)
        self.assertEqual(full["calls"], 4 * 12)
        self.assertEqual(simple["calls"], 12 * 12 * 2 * 12)  # rows of 12 points, each cut in 2, in 12 outputs

    def test_compute_time_is_not_io_time(self):
        for kind in ("busy", "sleep"):
            document = self.run_ok(
                "btio",
                mpis("btio")[0],
                1,
                "-C",
                "S",
                "--steps",
                "10",
                "--compute",
                "20",
                "--compute-kind",
                kind,
                "--no-warm",
                "-o",
                self.file,
            )
            run = document["repetitions"][0]
            self.assertGreaterEqual(run["total_s"] - run["io_s"], 0.2)

    def test_wrong_data_is_found(self):
        # An independent check of the pattern: a file written with one seed is not that of another one.
        mpi = mpis("btio")[0]
        self.run_ok("btio", mpi, 1, "-C", "S", "-k", "--no-warm", "-o", self.file)
        first = self.file.read_bytes()
        self.run_ok("btio", mpi, 1, "-C", "S", "-k", "-G", "1", "--no-warm", "-o", self.file)
        self.assertNotEqual(first, self.file.read_bytes())
        words = [int.from_bytes(first[i : i + 8], "little") for i in range(0, 24, 8)]
        step = 0x9E3779B97F4A7C15
        self.assertEqual([(w - words[0]) % 2**64 for w in words], [0, step, 2 * step % 2**64])

    def test_bad_use_is_refused_with_a_reason(self):
        self.assert_refused("there are classes S, W, A, B and C", "btio", "-C", "Q")
        self.assert_refused("is neither full nor simple", "btio", "-m", "half")
        self.assert_refused("must be a multiple of 5", "btio", "--steps", "7")
        status, _, err = self.start("btio", mpis("btio")[0], 3, "-C", "S", "-o", self.file)
        self.assertEqual(status, 2)
        self.assertIn("must be a square, not 3", err)

    def test_a_path_that_cannot_be_written_ends_the_job_with_a_reason(self):
        status, _, err = self.start("btio", mpis("btio")[0], 4, "-C", "S", "--no-warm", "-o", "/nonexistent/file")
        self.assertNotEqual(status, 0)
        self.assertIn("MPI_File_open", err)


if __name__ == "__main__":
    harness.main("btio")
