# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""fpp: each rank's file holds its values, from either language and either memory, and what is wrong shows."""

import json
import os
from unittest import mock

from harness import LIB, BenchTest, in_turn, main, mpis

CUDA, POSIX = LIB / "libfake-cuda.so", LIB / "libfake-posix.so"
LIBRARY = LIB / "libmillrace_io.so.1"


class FilePerProcess(BenchTest):
    def arguments(self, *more):
        return ("--folder", self.directory, "--sizes", "8,1m", "--buffer", "8k", "-i", 2, "--no-warm", *more)

    def fpp(self, mpi, *more, ranks=2):
        document = self.run_ok("fpp", mpi, ranks, *self.arguments(*more))
        self.assertEqual(list(self.directory.iterdir()), [], "files are left")
        return document

    def check_rates(self, document):
        self.assertTrue(document["verified"])
        self.assertEqual([row["bytes_per_rank"] for row in document["sizes"]], [8, 1 << 20])
        for row in document["sizes"]:
            for value in ("write_mib_s", "write_with_close_mib_s", "read_mib_s"):
                self.assertGreater(row[value]["mean"], 0)
            self.assertGreaterEqual(row["write_mib_s"]["mean"], row["write_with_close_mib_s"]["mean"])
            self.assertGreater(row["limit"]["write_mib_s"], 0)

    def test_both_languages_write_and_read_what_they_are_given(self):
        for mpi in in_turn("fpp"):
            for language in ("c", "fortran"):
                document = self.fpp(mpi, "--language", language, *(["--fsync"] if language == "c" else []))
                self.assertEqual((document["language"], document["memory"]), (language, "host"))
                self.check_rates(document)

    def test_values_of_a_device_go_by_host_memory_that_is_kept_or_fresh(self):
        for mpi in in_turn("fpp"):
            for language, method in (("c", "normal"), ("fortran", "normal"), ("c", "fresh")):
                document = self.fpp(mpi, "--memory", "device", "--driver", CUDA, "-l", language, "-m", method)
                self.check_rates(document)
                self.assertLessEqual(
                    {"pinned_from_device_mib_s", "pinned_to_device_mib_s"}, set(document["sizes"][0]["limit"])
                )

    def test_accelerated_hands_the_devices_own_address_to_the_preload(self):
        for mpi in in_turn("fpp"):
            document = self.fpp(mpi, "--memory", "device", "--driver", CUDA, "-m", "accelerated", "-p", POSIX)
            self.check_rates(document)
            self.assertIn(str(POSIX), document["preload"])

    def test_async_names_its_files_to_the_preload(self):
        self.check_rates(self.fpp(mpis("fpp")[0], "-m", "async", "-p", POSIX))
        # The stand-in refuses to work for other files than those that it was told.
        with mock.patch.dict(os.environ, FAKE_POSIX_TOLD=f"{self.directory.resolve()}/fpp-*"):
            self.check_rates(self.fpp(mpis("fpp")[0], "-m", "async", "-p", POSIX))
            status, _, err = self.start("fpp", mpis("fpp")[0], 2, *self.arguments("-m", "accelerated", "-p", POSIX))
            self.assertNotEqual(status, 0, err)

    def test_the_c_api_moves_the_values_in_each_of_its_ways(self):
        for method in ("api", "requests", "offload"):
            for mpi in in_turn("fpp") if method == "api" else mpis("fpp")[:1]:
                self.check_rates(self.fpp(mpi, "-m", method, "-L", LIBRARY, "--fsync"))

    def test_ranks_go_to_devices_one_after_the_other_or_in_turn(self):
        mpi = mpis("fpp")[0]
        with mock.patch.dict(os.environ, FAKE_CUDA_DEVICES="3"):
            for mapping, expected in (("ascending", [0, 0, 1, 1]), ("spread", [0, 1, 2, 0])):
                device = ("--memory", "device", "--driver", CUDA, "--mapping", mapping, "--per-device", 2)
                self.assertEqual(self.fpp(mpi, *device, ranks=4)["device_of_rank"], expected)

    def test_a_byte_that_is_wrong_in_the_file_shows(self):
        with mock.patch.dict(os.environ, FAKE_POSIX_SPOILS="1"):
            status, out, _ = self.start("fpp", mpis("fpp")[0], 2, *self.arguments("-m", "accelerated", "-p", POSIX))
        self.assertEqual(status, 1)
        self.assertFalse(json.loads(out)["verified"])

    def test_what_cannot_be_measured_here_is_said(self):
        mpi = mpis("fpp")[0]
        for arguments, expected in (
            (("-m", "accelerated"), "accelerated: no library was given"),
            (("-m", "async"), "async: no library was given"),
            (("-m", "offload"), "offload: no library was given (--library FILE)"),
            (("-m", "api", "-L", "/nonexistent.so"), "there is no /nonexistent.so"),
            (("-m", "requests", "-L", LIBRARY, "-l", "fortran"), "its calls are C's"),
            (("-m", "accelerated", "-p", "/nonexistent.so"), "there is no /nonexistent.so"),
            (("--memory", "device", "--driver", "libnothing.so"), "no device: libnothing.so"),
            (("--memory", "device", "--driver", CUDA, "-m", "accelerated", "-p", POSIX, "-l", "fortran"), "by itself"),
        ):
            document = self.fpp(mpi, *arguments)
            self.assertIn(expected, document["problem"])
            self.assertNotIn("sizes", document)

    def test_bad_use_is_refused(self):
        self.assert_refused("'pascal' is none of c, fortran", "fpp", "--language", "pascal")
        self.assert_refused("multiples of 8 bytes", "fpp", "--sizes", "7")
        self.assert_refused("is for values in device memory", "fpp", "--method", "fresh")


if __name__ == "__main__":
    main("fpp")
