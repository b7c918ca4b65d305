# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import harness
from harness import BenchTest, in_turn, mpis

SMALL = ["-t", "4k", "-b", "16k", "-s", "8", "--no-warm"]


class Ior(BenchTest):
    def test_every_kind_of_access_verifies(self):
        kinds = [
            [],
            ["-e"],
            ["-c"],
            ["-V"],
            ["-V", "-c"],
            ["-z"],
            ["-F"],
            ["-F", "-u", "-z"],
            ["-a", "POSIX", "-Y"],
            ["-a", "POSIX", "-z"],
            ["-C"],
            ["-Z", "-X", "3"],
            ["-m", "-i", "2", "-g"],
            ["-t", "4000", "-b", "4000"],
        ]
        for mpi in in_turn("ior"):
            for kind in kinds:
                with self.subTest(mpi=mpi, kind=kind):
                    document = self.run_ok("ior", mpi, 3, *SMALL, *kind, "-w", "-r", "-W", "-R", "-o", self.file)
                    self.assertTrue(document["verified"])
                    self.assertGreater(document["write"]["median_mib_s"], 0)
                    self.assertEqual(list(self.directory.iterdir()), [])

    def test_layout_does_not_depend_on_the_order_or_the_interface(self):
        contents = set()
        for kind in ([], ["-z"], ["-c"], ["-V"], ["-a", "POSIX"], ["-t", "16k"], ["-b", "32k", "-s", "4"]):
            document = self.run_ok("ior", mpis("ior")[0], 4, *SMALL, *kind, "-w", "-k", "-o", self.file)
            self.assertEqual(document["bytes"], 4 * 16384 * 8)
            contents.add(self.file.read_bytes())
        self.assertEqual(len(contents), 1)

    def test_calls_are_counted_and_random_order_makes_each_transfer_once(self):
        for kind in ([], ["-z"]):
            document = self.run_ok("ior", mpis("ior")[0], 4, *SMALL, *kind, "-w", "-W", "-o", self.file)
            self.assertEqual(document["calls"], 4 * 8 * 4)

    def test_a_corrupted_file_is_found_by_reading(self):
        for mpi in in_turn("ior"):
            self.run_ok("ior", mpi, 2, *SMALL, "-w", "-k", "-o", self.file)
            self.run_ok("ior", mpi, 2, *SMALL, "-r", "-R", "-E", "-k", "-o", self.file)
            harness.corrupt(self.file, 16384 + 4097)
            status, out, err = self.start("ior", mpi, 2, *SMALL, "-r", "-R", "-E", "-k", "-o", self.file)
            self.assertEqual(status, 1)
            self.assertIn("wrong byte at offset 20481", err)
            self.assertIn('"verified": false', out)

    def test_another_seed_is_not_accepted(self):
        self.run_ok("ior", mpis("ior")[0], 2, *SMALL, "-w", "-k", "-o", self.file)
        status, _, err = self.start("ior", mpis("ior")[0], 2, *SMALL, "-r", "-R", "-G", "5", "-o", self.file)
        self.assertEqual(status, 1, err)

    def test_a_short_file_is_found(self):
        self.run_ok("ior", mpis("ior")[0], 2, *SMALL, "-w", "-k", "-o", self.file)
        with open(self.file, "r+b") as file:
            file.truncate(100_000)
        status, _, err = self.start("ior", mpis("ior")[0], 2, *SMALL, "-r", "-E", "-k", "-o", self.file)
        self.assertEqual(status, 1)
        self.assertIn("fewer bytes than asked", err)

    def test_a_path_that_cannot_be_written_is_an_error_with_a_reason(self):
        status, _, err = self.start("ior", mpis("ior")[0], 2, *SMALL, "-w", "-o", "/nonexistent/file")
        self.assertEqual(status, 1)
        self.assertIn("rank 0: ", err)

    def test_presets_have_the_published_patterns_and_sizes_within_bounds(self):
        rest = ["-w", "-W", "--no-warm", "-o", self.file]
        document = self.run_ok("ior", mpis("ior")[0], 2, "--preset", "paper-fine", *rest)
        p = document["parameters"]
        self.assertEqual((p["transfer"], p["block"], p["segments"]), (4096, 16384, 1024))
        document = self.run_ok("ior", mpis("ior")[0], 2, "--preset", "block-1m", *rest)
        self.assertEqual(document["bytes"], 64 << 20)

    def test_bad_use_is_refused_with_a_reason(self):
        for arguments, expected in (
            (["-D", "5"], "deadlineForStonewalling of IOR is not supported"),
            (["-S"], "useStridedDatatype of IOR is not supported"),
            (["--nonsense"], "not expected: --nonsense"),
            (["-t"], "1 required"),
            (["-t", "4x"], "'4x' is not a size"),
            (["-t", "3k", "-b", "4k"], "-b must be a multiple of -t"),
            (["-i", "0"], "is not a whole number from 1"),
            (["-z", "-c"], "-z deals unequal numbers"),
            (["-a", "HDF5"], "there is POSIX and MPIIO"),
            (["-a", "POSIX", "-c"], "need -a MPIIO"),
            (["--preset", "none"], "there is no preset 'none'"),
            (["stray"], "not expected: stray"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(expected, "ior", *arguments)


if __name__ == "__main__":
    harness.main("ior")
