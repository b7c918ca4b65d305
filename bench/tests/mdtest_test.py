# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import shutil
import subprocess

import harness
from harness import BenchTest, in_turn, mpis

DIRECTORIES = ["dir_create", "dir_stat", "dir_rename", "dir_remove"]
FILES = ["file_create", "file_stat", "file_read", "file_remove"]


class Mdtest(BenchTest):
    def measure(self, ranks, *arguments, mpi=None):
        rest = ["--limit-items", 0, "-d", self.directory / "out"]
        document = self.run_ok("mdtest", mpi or mpis("mdtest")[0], ranks, *rest, *arguments)
        self.assertTrue(document["verified"])
        return document

    def operations(self, *arguments, **where):
        document = self.measure(2, "-n", 4, *arguments, **where)
        return [o["operation"] for o in document["runs"][0]["operations"]]

    def names(self):
        """Directories with a stroke, files without, below the test directory of the first iteration."""
        top = self.directory / "out/test-dir.0-0"
        return sorted(str(p.relative_to(top)) + "/" * p.is_dir() for p in top.rglob("*"))

    def test_every_kind_of_run_verifies_and_leaves_nothing(self):
        kinds = [
            [],
            ["-F", "-w", 100, "-e", 100, "-X", "-N", 1, "-R"],
            ["-u", "-z", 2, "-b", 2, "-N", 1, "-i", 2],
            ["-u", "-L", "-z", 1, "-b", 3, "-c", "-F", "-w", "1k", "-e", 8, "-X"],
            ["-S", "-w", 8, "-e", 8, "-X", "-y"],
            ["-B", "-u", "-t", "-D"],
        ]
        for mpi in in_turn("mdtest"):
            for kind in kinds[:2] if mpi == "ompi" else kinds:
                with self.subTest(mpi=mpi, kind=kind):
                    self.measure(3, "-n", 24, *kind, mpi=mpi)
                    self.assertEqual(list(self.directory.iterdir()), [])

    def test_phases_are_those_that_are_asked_for(self):
        self.assertEqual(self.operations(), ["tree_create", *DIRECTORIES, *FILES, "tree_remove"])
        self.assertEqual(self.operations("-F", "-C"), ["tree_create", "file_create"])
        self.assertEqual(self.operations("-F", "-T"), ["file_stat"])
        self.assertEqual(self.operations("-F", "-E"), ["file_read"])
        self.assertEqual(self.operations("-F", "-r"), ["file_remove", "tree_remove"])

    def test_names_are_those_of_mdtest(self):
        self.measure(2, "-n", 2, "-C")
        kinds = [f"{kind}.mdtest.{rank}.{i}" for kind in ("dir", "file") for rank in (0, 1) for i in (0, 1)]
        inside = [f"mdtest_tree.0/{name}" + "/" * name.startswith("dir") for name in kinds]
        self.assertEqual(self.names(), sorted(["mdtest_tree.0/", *inside]))

    def test_a_tree_for_each_rank_has_items_where_mdtest_has_them(self):
        self.measure(2, "-I", 1, "-u", "-L", "-z", 1, "-b", 2, "-C", "-F")
        expected = []
        for rank in (0, 1):
            tree = f"mdtest_tree.{rank}"
            expected.append(f"{tree}.0/")
            for number in (1, 2):
                expected.append(f"{tree}.0/{tree}.{number}/")
                expected.append(f"{tree}.0/{tree}.{number}/file.mdtest.{rank}.{number}")
        self.assertEqual(self.names(), sorted(expected))

    def test_items_and_rates_are_counted_as_mdtest_does(self):
        document = self.measure(3, "-n", 7, "-z", 1, "-b", 2, "-i", 3)
        self.assertEqual(document["parameters"]["tree_directories"], 3)
        for one in document["runs"][0]["operations"]:
            tree = one["operation"].startswith("tree")
            self.assertEqual(one["items"], 3 if tree else 3 * 6)  # 2 in each of 3 directories, of 3 ranks
            self.assertEqual(len(one["seconds"]), 3)
            rates = [one["items"] / seconds for seconds in one["seconds"]]
            self.assertAlmostEqual(one["mean_per_s"] / (sum(rates) / 3), 1, delta=1e-6)
            self.assertAlmostEqual(one["max_per_s"] / max(rates), 1, delta=1e-6)

    def test_numbers_of_ranks_are_run_one_after_the_other(self):
        document = self.measure(3, "-n", 2, "-F", "-f", 1, "-l", 3, "-s", 2)
        self.assertEqual([run["ranks"] for run in document["runs"]], [1, 3])

    def test_a_shift_looks_at_what_another_rank_made(self):
        if not shutil.which("strace") or "mpich" not in mpis("mdtest"):
            self.skipTest("needs MPICH and strace")
        out = self.directory / "out"
        trace = self.directory / "trace"
        command = ["mpiexec.hydra", "-n", "3", "strace", "-ff", "-e", "trace=%file", "-o", trace]
        program = [harness.BIN / "mdtest-mpich", "-n", "2", "-F", "-N", "1", "--limit-items", "0", "-d", out]
        done = subprocess.run([*command, *program], capture_output=True, text=True, timeout=400, check=False)
        if "ptrace" in done.stderr:
            self.skipTest("strace is not permitted here")
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = set()
        for path in self.directory.glob("trace.*"):
            text = path.read_text(errors="replace")
            # of creation, stat, read and removal, in order
            targets = re.findall(r"^(\w+)\(.*/file\.mdtest\.(\d+)\.0\"", text, re.MULTILINE)
            if targets:
                seen.add(tuple(int(target) for _, target in targets))
        self.assertEqual(seen, {tuple((rank + hops) % 3 for hops in (0, 1, 2, 3)) for rank in range(3)})

    def test_what_is_missing_or_wrong_is_found(self):
        rest = ["-n", "3", "-F", "-w", "64", "-d", self.directory / "out", "--limit-items", "0"]
        mpi = mpis("mdtest")[0]
        for damage, arguments, expected in (
            (pathlib.Path.unlink, ["-T"], "cannot stat"),
            (lambda path: harness.corrupt(path, 10), ["-E", "-e", "64", "-X"], "wrong bytes in"),
            (lambda path: path.write_bytes(b"short"), ["-E", "-e", "64"], "cannot read all of"),
            (lambda path: path.with_name("stray").touch(), ["-r"], "cannot remove directory"),
        ):
            with self.subTest(expected=expected):
                shutil.rmtree(self.directory / "out", ignore_errors=True)
                self.run_ok("mdtest", mpi, 2, *rest, "-C")
                damage(self.directory / "out/test-dir.0-0/mdtest_tree.0/file.mdtest.1.2")
                status, out, err = self.start("mdtest", mpi, 2, *rest, *arguments)
                self.assertEqual(status, 1)
                self.assertIn(expected, err)
                self.assertIn('"verified": false', out)

    def test_the_limit_is_that_of_one_process(self):
        document = self.run_ok(
            "mdtest", mpis("mdtest")[0], 1, "-n", 10, "--limit-items", 50, "-d", self.directory / "out"
        )
        for one in document["runs"][0]["operations"]:
            if one["operation"] in DIRECTORIES + FILES and one["operation"] != "dir_rename":
                self.assertAlmostEqual(one["fraction_of_limit"], one["mean_per_s"] / one["limit_per_s"], places=6)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_bad_use_is_refused_with_a_reason(self):
        for arguments, expected in (
            ([], "give either -n or -I"),
            (["-n", "5", "-I", "5"], "give either -n or -I"),
            (["-n", "5", "-W", "3"], "-W of MDTEST is not supported: a run that stops early cannot be verified"),
            (["-n", "5", "-z", "3", "-b", "2"], "less than one item for each of 15 directories"),
            (["-n", "5", "-B", "-N", "1"], "would find what is not there yet"),
            (["-n", "5", "-S", "-D"], "-S is for files"),
            (["-n", "5", "-X"], "-X needs files that are read, and -e"),
            (["-n", "5", "-e", "8"], "-e must not be more than -w"),
            (["-n", "5", "-l", "2"], "at most the number of ranks, 1"),
            (["-n", "5", "-d", "a@b"], "one directory"),
        ):
            with self.subTest(arguments=arguments):
                self.assert_refused(expected, "mdtest", *arguments)

    def test_a_directory_that_cannot_be_made_is_an_error_with_a_reason(self):
        status, _, err = self.start("mdtest", mpis("mdtest")[0], 2, "-n", 3, "-d", "/nonexistent/folder")
        self.assertNotEqual(status, 0)
        self.assertIn("cannot make directory /nonexistent/folder", err)


if __name__ == "__main__":
    harness.main("mdtest")
