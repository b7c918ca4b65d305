# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the measuring programs share."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BENCH))

from bars.launch import Launcher  # noqa: E402
from millrace.tools import session  # noqa: E402

BIN = pathlib.Path(os.environ.get("MILLRACE_BENCH_BIN", BENCH.parent / "build/bin/bench"))
LIB = pathlib.Path(os.environ.get("MILLRACE_BENCH_LIB", BENCH.parent / "build/lib"))
BUILD = BIN.parent.parent
LAUNCHERS = {"mpich": "mpiexec.hydra", "ompi": "mpirun.openmpi"}


def mpis(program):
    """The MPI libraries for which the program is built and can be started."""
    return [m for m in LAUNCHERS if (BIN / f"{program}-{m}").exists() and shutil.which(LAUNCHERS[m])]


def in_turn(program):
    """Those with which a test repeats itself: one by commit in `make test`, else all (tests/conftest.py)."""
    found, turn = mpis(program), os.environ.get("TEST_TURN")
    return [found[(int(turn) + len(program)) % 2]] if turn and len(found) == 2 else found


def bounded(command, timeout_s=400):
    """(status, stdout, stderr) of a program; everything that it started is ended when the time is over."""
    return session.bounded(command, timeout_s)


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="millrace-bench-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.file = self.directory / "file"

    def start(self, program, mpi, ranks, *arguments):
        launcher = Launcher(BUILD, pathlib.Path("none"), 400)
        return bounded(launcher.command(program, mpi, ranks, [str(a) for a in arguments], False))

    def run_ok(self, program, mpi, ranks, *arguments):
        status, out, err = self.start(program, mpi, ranks, *arguments)
        self.assertEqual(status, 0, err + out)
        document = json.loads(out)
        self.assertEqual(
            (document["schema"], document["version"], document["benchmark"]), ("millrace-bench", 1, program)
        )
        return document

    def assert_reads_only(self, program, mpi, ranks, *arguments):
        """With -r, a launch reads and checks the file that another one has left, and finds other values in it."""
        words = [*arguments, "--no-warm", "-k", "-o", self.file]
        self.run_ok(program, mpi, ranks, *words)
        before = self.file.stat()
        document = self.run_ok(program, mpi, ranks, *words, "-r")
        after = self.file.stat()
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))
        self.assertTrue(document["verified"])
        self.assertNotIn("write", document)
        self.assertGreater(document["read"]["median_mib_s"], 0)
        status, out, _ = self.start(program, mpi, ranks, *words, "-r", "-G", "1")
        self.assertEqual(status, 1)
        self.assertIn('"verified": false', out)

    def assert_refused(self, expected, program, *arguments):
        """Bad use: one clear message, status 2, nothing on stdout. Without a launcher, as a single rank."""
        for mpi in in_turn(program):
            environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            done = subprocess.run(
                [BIN / f"{program}-{mpi}", *arguments],
                capture_output=True,
                text=True,
                timeout=400,
                env=environment,
                check=False,
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(expected, done.stderr)
            self.assertEqual(done.stdout, "")


def corrupt(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def main(*programs):
    if not all(mpis(program) for program in programs):
        print("skipped: not built for any MPI that can be started here")
        sys.exit(77)
    unittest.main()
