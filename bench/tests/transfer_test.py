# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""transfer: every way to a device moves what it was given, and is compared with the driver's own."""

import json
import os
import subprocess
import unittest

from harness import BIN, LIB

FAKE = LIB / "libfake-cuda.so"
QUICK = ("--sizes", "3,40k,1000003", "--bytes", "1m", "--chunk", "64k", "-i", "2")


def transfer(*arguments, **environment):
    return subprocess.run(
        [BIN / "transfer", *arguments],
        capture_output=True,
        text=True,
        timeout=400,
        env=dict(os.environ, **environment),
        check=False,
    )


class Transfer(unittest.TestCase):
    def check(self, done, functional_only):
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual((document["schema"], document["benchmark"]), ("millrace-bench", "transfer"))
        self.assertTrue(document["verified"])
        self.assertEqual(document["functional_only"], functional_only)
        self.assertEqual([row["bytes"] for row in document["sizes"]], [3, 40 << 10, 1000003])
        for row in document["sizes"]:
            self.assertGreater(row["host_copy_mib_s"]["median"], 0)
            for direction in ("write", "read"):
                self.assertEqual(sorted(row[direction]), ["async", "pageable", "pinned", "staged"])
                self.assertEqual(row[direction]["pinned"]["fraction_of_limit"], 1)
                for found in row[direction].values():
                    self.assertGreater(found["mib_s"]["median"], 0)

    def test_by_the_memory_of_another_process_it_is_right_and_says_that_it_is_functional_only(self):
        self.check(transfer("--backend", "process", *QUICK), True)

    def test_by_a_driver_whose_copies_come_as_late_as_they_may_it_is_right(self):
        self.check(transfer("--driver", str(FAKE), *QUICK), False)

    def test_a_byte_that_is_lost_shows(self):
        done = transfer("--driver", str(FAKE), *QUICK, FAKE_CUDA_LOSES="1")
        self.assertEqual(done.returncode, 1)
        self.assertFalse(json.loads(done.stdout)["verified"])

    def test_without_a_device_the_document_says_why(self):
        for arguments, expected in (
            (("--driver", "libnothing.so"), "no device: libnothing.so"),
            (("--driver", "libc.so.6"), "the driver has no cuInit"),
            (("--driver", str(FAKE), "--device", "1"), "no device 1: the driver has 1"),
        ):
            done = transfer(*arguments)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(expected, json.loads(done.stdout)["problem"])

    def test_bad_use_is_refused(self):
        for arguments, expected in (
            (("--backend", "abacus"), "neither cuda nor process"),
            (("--sizes", "0"), "sizes are from 1 to 4g"),
        ):
            done = transfer(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    unittest.main()
