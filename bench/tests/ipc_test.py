# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""ipc: every way between two processes moves what was sent, and says so, or why it is not here."""

import unittest

from harness import BenchTest, in_turn

METHODS = """pipe fifo unix-stream unix-datagram tcp posix-queue sysv-queue posix-memory sysv-memory mapped-file
vm-readv vm-writev mpi""".split()


class Ipc(BenchTest):
    def test_every_way_is_measured_in_both_directions_or_says_why_not(self):
        for mpi in in_turn("ipc"):
            document = self.run_ok("ipc", mpi, 2, "--sizes", "3,300k", "--bytes", "3k", "--repetitions", 1)
            self.assertTrue(document["verified"])
            self.assertEqual(sorted(document["methods"]), sorted(METHODS))
            for name, found in document["methods"].items():
                if "problem" in found:
                    self.assertIn(name, ("posix-queue", "sysv-queue", "sysv-memory", "vm-readv", "vm-writev"), found)
                    continue
                self.assertEqual([row["bytes"] for row in found["sizes"]], [3, 300 << 10])
                for row in found["sizes"]:
                    for value in ("write_mib_s", "read_mib_s", "latency_us", "limit_mib_s"):
                        self.assertGreater(row[value]["median"], 0, (name, row))

    def test_bad_use_is_refused(self):
        self.assert_refused("'smoke' is none of pipe, fifo", "ipc", "--methods", "smoke")
        self.assert_refused("sizes are from 1 to 1g", "ipc", "--sizes", "0")
        self.assert_refused("2 ranks on one node, not 1", "ipc")


if __name__ == "__main__":
    unittest.main()
