# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""faults.py LIBRARY CAREFUL FAULT: what a disk says reaches the program: the right errno, right counts, once."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from programs import MODES

LIBRARY, CAREFUL, FAULT = sys.argv[1:4]
MIB = 1 << 20
CALLS = ((100_000, 150), (7 * MIB, 2), (MIB, 14))  # bytes of a call, calls: small, large, between


def pattern(size: int) -> bytes:
    block = bytearray(size)
    for k in range(size):
        block[k] = ((k * 2654435761 & 0xFFFFFFFF) >> 13) & 0xFF
    return bytes(block)


PATTERN = pattern(16 * MIB)


class Faults(unittest.TestCase):
    def careful(self, folder: str, call: tuple[int, int], mode: str | None, **fault: str) -> tuple[list[str], bytes]:
        libraries = ([LIBRARY] if mode else []) + ([FAULT] if fault else [])
        environment = {**os.environ, **(MODES[mode] if mode else {}), **fault, "LD_PRELOAD": ":".join(libraries)}
        file = Path(folder) / "file"
        words = [CAREFUL, str(file), *map(str, call)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=400, check=True)
        return done.stdout.splitlines(), file.read_bytes()

    def check(self, folder: str, error: str, **fault: str) -> None:
        for call in CALLS:
            told, contents = self.careful(folder, call, None, **fault)
            self.assertEqual(told[0], f"write {error}")
            self.assertEqual(contents, PATTERN[: len(contents)])
            with self.subTest(call=call, mode="early"):
                self.assertEqual(self.careful(folder, call, "early", **fault), (told, contents))
            with self.subTest(call=call, mode="async"):
                late, later = self.careful(folder, call, "async", **fault)
                errors = [line.split()[1] for line in late[:-1]]
                # What comes after it was told is the system's own answer again.
                self.assertEqual(errors[0], error, late)
                self.assertEqual(later[: len(contents)], contents)
                self.assertNotIn("again", " ".join(late[:-1]) if fault else "")

    def test_an_error_of_the_disk(self):
        for at in (1, 100_000, 3 * MIB + 5, 7 * MIB):
            with tempfile.TemporaryDirectory() as folder, self.subTest(at=at):
                self.check(folder, "EIO", FAULT_AT=str(at), FAULT_ERRNO="5")

    def test_a_quota(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check(folder, "EDQUOT", FAULT_AT=str(5 * MIB), FAULT_ERRNO="122")

    def test_short_and_interrupted_writes_lose_nothing(self):
        for call in CALLS:
            for mode in (None, *MODES):
                with tempfile.TemporaryDirectory() as folder, self.subTest(call=call, mode=mode):
                    told, contents = self.careful(folder, call, mode, FAULT_SHORT="1")
                    self.assertEqual(told, [f"{call[0] * call[1]} {call[0] * call[1]}"])
                    self.assertEqual(contents, PATTERN[: call[0] * call[1]])

    @unittest.skipIf(os.geteuid() != 0, "mounting a small file system needs root")
    def test_a_full_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], check=False)
            if mounted.returncode != 0:
                self.skipTest("cannot mount a tmpfs here")
            try:
                self.check(folder, "ENOSPC")
            finally:
                subprocess.run(["umount", folder], check=True)

    def test_a_limit_on_file_sizes(self):
        script = 'trap "" XFSZ; ulimit -f 5120; exec "$@"'
        for mode in MODES:
            with tempfile.TemporaryDirectory() as folder, self.subTest(mode=mode):
                environment = {**os.environ, **MODES[mode], "LD_PRELOAD": LIBRARY}
                words = ["bash", "-c", script, "-", CAREFUL, f"{folder}/file", str(7 * MIB), "2"]
                done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=400, check=True)
                self.assertEqual(done.stdout.splitlines(), ["write EFBIG", f"{5 * MIB} {5 * MIB}"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
