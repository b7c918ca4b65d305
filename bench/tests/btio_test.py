# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import re
import shutil
import struct
import subprocess

import harness
from harness import BenchTest, in_turn, mpis


def shares(points, p, coordinate):
    """The points of a cell in one direction: [low, end). The first cells have one more, as NPB's make_set says."""
    size, more = divmod(points, p)
    low = sum(size + (i < more) for i in range(coordinate))
    return low, low + size + (coordinate < more)


def cells(rank, p):
    """Coordinates of the cells of a rank, in NPB's order: one per layer in z, shifted in x forth and in y back."""
    return [((rank % p + c) % p, (rank // p - c) % p, c) for c in range(p)]


def owners(points, p):
    """Owner of each point, x fastest: computed from the definition, not from the program."""
    found = [None] * points**3
    for rank in range(p * p):
        for cell in cells(rank, p):
            x, y, z = (shares(points, p, c) for c in cell)
            for k in range(*z):
                for j in range(*y):
                    for i in range(*x):
                        assert found[i + points * (j + points * k)] is None
                        found[i + points * (j + points * k)] = rank
    return found


def rows(rank, points, p, outputs):
    """(offset, bytes) of the writes of a rank in mode simple, in order."""
    found = []
    for output in range(outputs):
        for cell in cells(rank, p):
            x, y, z = (shares(points, p, c) for c in cell)
            for k in range(*z):
                for j in range(*y):
                    found.append((40 * (x[0] + points * (j + points * (k + points * output))), 40 * (x[1] - x[0])))
    return found


class Btio(BenchTest):
    def test_every_point_lies_where_bt_puts_it_by_the_rank_that_owns_it(self):
        for mpi in in_turn("btio"):
            for mode in ("full", "simple"):
                for p in (1, 2, 3, 4):
                    with self.subTest(mpi=mpi, mode=mode, ranks=p * p):
                        arguments = ["-C", "S", "-m", mode, "--steps", "10", "--mark-ranks", "-k", "--no-warm"]
                        self.run_ok("btio", mpi, p * p, *arguments, "-o", self.file)
                        values = struct.unpack(f"={2 * 5 * 12**3}d", self.file.read_bytes())
                        expected = [float(rank) for rank in owners(12, p) for _ in range(5)]
                        self.assertEqual(list(values), expected * 2)

    def test_ranks_that_meet_by_messages_write_the_same_bytes(self):
        for mpi in in_turn("btio"):
            for ranks in (1, 4):
                with self.subTest(mpi=mpi, ranks=ranks):
                    arguments = ["-C", "S", "-m", "simple", "--steps", "10", "--meet", "neighbours", "--no-warm"]
                    document = self.run_ok("btio", mpi, ranks, *arguments, "-o", self.file)
                    self.assertEqual(document["parameters"]["meet"], "neighbours")
                    self.assertTrue(document["verified"])

    def test_simple_writes_the_rows_of_bt_in_the_order_of_bt(self):
        if "mpich" not in mpis("btio") or not shutil.which("strace"):
            self.skipTest("needs MPICH, whose every write is one system call, and strace")
        trace = self.directory / "trace"
        launch = ["mpiexec.hydra", "-n", "4", "strace", "-ff", "-e", "trace=openat,pwrite64", "-o", trace]
        program = [harness.BIN / "btio-mpich", "-C", "S", "-m", "simple", "--steps", "10", "--no-warm", "-o", self.file]
        done = subprocess.run([*launch, *program], capture_output=True, text=True, timeout=400, check=False)
        if "ptrace" in done.stderr:
            self.skipTest("strace is not permitted here")
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = []
        for path in self.directory.glob("trace.*"):
            # pwrite64(9, "..."..., 240, 0) = 240
            calls = re.findall(r"pwrite64\(\d+, .*, (\d+), (\d+)\) = \1", path.read_text(errors="replace"))
            if calls:
                seen.append([(int(offset), int(size)) for size, offset in calls])
        self.assertEqual(sorted(seen), sorted(rows(rank, 12, 2, 2) for rank in range(4)))

    def test_the_file_is_the_same_for_all_ranks_modes_and_libraries(self):
        contents = set()
        for mpi in in_turn("btio"):
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

    def test_a_file_that_another_launch_has_left_is_read(self):
        for mode in ("full", "simple"):
            self.assert_reads_only("btio", mpis("btio")[0], 4, "-C", "S", "-m", mode, "--verify", "mpi")

    def test_bad_use_is_refused_with_a_reason(self):
        self.assert_refused("there are classes S, W, A, B and C", "btio", "-C", "Q")
        self.assert_refused("is neither full nor simple", "btio", "-m", "half")
        self.assert_refused("must be a multiple of 5", "btio", "--steps", "7")
        self.assert_refused("use one of them", "btio", "--mark-ranks", "-r")
        status, _, err = self.start("btio", mpis("btio")[0], 3, "-C", "S", "-o", self.file)
        self.assertEqual(status, 2)
        self.assertIn("must be a square, not 3", err)

    def test_a_path_that_cannot_be_written_ends_the_job_with_a_reason(self):
        status, _, err = self.start("btio", mpis("btio")[0], 4, "-C", "S", "--no-warm", "-o", "/nonexistent/file")
        self.assertNotEqual(status, 0)
        self.assertIn("MPI_File_open", err)


if __name__ == "__main__":
    harness.main("btio")
