# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import shutil
import sys
import unittest

from harness import BenchTest, bounded, in_turn

SMALL = {"hdf5": ["-d", "30", "-n", "50"], "pnetcdf": ["-v", "30", "--rows", "5", "--columns", "7"]}
VARIANTS = {
    "hdf5": [
        [],
        ["-c", "-e"],
        ["--rows", "3"],
        ["--rows", "4", "-c", "--chunked-every", "2"],
        ["--chunked-every", "1", "--read-every", "1"],
    ],
    "pnetcdf": [["--calls", "collective", "-e"], ["--calls", "independent"], ["--calls", "queued"]],
}
PROGRAMS = [(program, mpi) for program in SMALL for mpi in in_turn(program)]


class Libraries(BenchTest):
    def test_data_is_verified_and_rates_are_told(self):
        for program, mpi in PROGRAMS:
            for variant in VARIANTS[program]:
                with self.subTest(program=program, mpi=mpi, variant=variant):
                    arguments = [*SMALL[program], *variant, "--no-warm", "-i", "2", "-o", self.file]
                    document = self.run_ok(program, mpi, 3, *arguments)
                    self.assertTrue(document["verified"])
                    self.assertGreater(document["write"]["median_mib_s"], 0)
                    self.assertGreater(document["read"]["median_mib_s"], 0)
                    self.assertFalse(self.file.exists())

    def test_bytes_are_those_of_the_data(self):
        sizes = {"hdf5": 30 * 50 * 8 * 2, "pnetcdf": (15 + 15 * 4) * 5 * 7 * 8 * 2}
        for program, mpi in PROGRAMS:
            document = self.run_ok(program, mpi, 2, *SMALL[program], "--no-warm", "-k", "-o", self.file)
            self.assertEqual(document["bytes"], sizes[program])
            self.assertGreaterEqual(self.file.stat().st_size, sizes[program])

    def test_a_file_that_another_launch_has_left_is_read(self):
        for program, mpi in PROGRAMS:
            self.assert_reads_only(program, mpi, 2, *SMALL[program])

    def test_other_programs_read_the_values(self):
        # The first value is start(seed); the next ones follow in steps (common/pattern.hpp).
        step = 0x9E3779B97F4A7C15
        if ("hdf5", "mpich") in PROGRAMS and shutil.which("h5dump"):
            self.run_ok("hdf5", "mpich", 2, *SMALL["hdf5"], "--no-warm", "-k", "-o", self.file)
            _, out, err = bounded(["h5dump", "-y", "-d", "/group-1/dataset-21", self.file])
            _, zero, _ = bounded(["h5dump", "-y", "-d", "/group-0/dataset-0", self.file])
            first, others = values(zero, "DATA {"), values(out, "DATA {")
            self.assertEqual(len(others), 100, err)
            self.assertEqual(others, [(first[0] + step * (21 * 100 + i)) % 2**64 for i in range(100)])
        if ("pnetcdf", "ompi") in PROGRAMS and shutil.which("ncmpidump"):
            self.run_ok("pnetcdf", "ompi", 1, *SMALL["pnetcdf"], "--no-warm", "-k", "-o", self.file)
            _, out, err = bounded(["ncmpidump", "-v", "variable-0,variable-3", self.file])
            found = [values(out, f"variable-{v} =") for v in (0, 3)]
            self.assertEqual([len(f) for f in found], [35, 4 * 35], err + out[-2000:])
            start = found[0][0]
            self.assertEqual(found[0], [(start + step * i) % 2**64 for i in range(35)])
            self.assertEqual(found[1], [(start + step * (3 * 4 * 35 + i)) % 2**64 for i in range(4 * 35)])

    def test_bad_use_is_refused_with_a_reason(self):
        for program, _ in PROGRAMS:
            self.assert_refused("not expected", program, "--nonsense")
        if any(program == "pnetcdf" for program, _ in PROGRAMS):
            self.assert_refused("there is collective, independent and queued", "pnetcdf", "--calls", "some")

    def test_a_path_that_cannot_be_written_ends_the_job_with_a_reason(self):
        for program, mpi in PROGRAMS:
            status, _, err = self.start(program, mpi, 2, *SMALL[program], "--no-warm", "-o", "/nonexistent/file")
            self.assertNotEqual(status, 0)
            self.assertRegex(err, "H5Fcreate failed|ncmpi_create")


def values(text, after):
    """The whole numbers of the list that follows `after`."""
    part = text.split(after, 1)[1].split("}")[0].split(";")[0]
    return [int(word) for word in part.replace(",", " ").split() if word.isdigit()]


if __name__ == "__main__":
    if not PROGRAMS:
        print("skipped: neither HDF5 nor PnetCDF is there for an MPI that can be started here")
        sys.exit(77)
    unittest.main()
