# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""run_device.py: what can be measured is, and for the rest the report says why; bars are judged by what was seen."""

import json
import sys

import harness
from device import measure, peers, plan, statements
from harness import BENCH, BUILD, LIB, BenchTest, bounded, mpis

MIB = 1 << 20
FAST = ("--quick", "--languages", "c", "--buffers", "512k")


ALL_METHODS = ("normal", "fresh", "accelerated", "api", "requests", "offload")


class Driver(BenchTest):
    def drive(self, *arguments):
        where = ["--build", BUILD, "--dir", self.directory, "--out", self.directory / "out", "--mpi", mpis("fpp")[0]]
        return bounded([sys.executable, BENCH / "run_device.py", *where, *FAST, *arguments], 200)

    def results(self, *arguments):
        status, out, err = self.drive(*arguments)
        self.assertEqual(status, 0, err + out)
        self.assertEqual([path.name for path in self.directory.iterdir()], ["out"])
        document = json.loads((self.directory / "out/device.json").read_text())
        self.assertEqual((document["schema"], document["version"]), ("millrace-device", 1))
        return document, (self.directory / "out/device.md").read_text()

    def test_without_a_device_its_parts_say_so(self):
        parts = ("--parts", "ipc,transfer,device", "--driver", "libnothing.so", "--ranks", "1")
        document, text = self.results(*parts)
        points = {point["name"]: point for point in document["points"]}
        self.assertIn("no device", points["transfer cuda"]["problem"])
        self.assertTrue(points["transfer process"]["documents"][0]["functional_only"])
        self.assertIn("Not measured: no device", text)
        self.assertIn("**Functional only**", text)
        seen = {one["text"]: one for one in document["statements"]}
        found = seen["device memory: accelerated not below normal"]
        self.assertIsNone(found["met"])
        self.assertIn("no device", found["seen"])

    def test_with_a_device_and_an_accelerator_all_methods_are_measured(self):
        fakes = ("--driver", LIB.parent / "fake-cuda/libcuda.so.1")  # by the name by which the library looks for it
        document, text = self.results("--parts", "transfer,device", *fakes)
        methods = {(p["method"], p["mapping"]) for p in document["points"] if p["part"] == "device" and p["documents"]}
        expected = {(m, w) for m in ALL_METHODS for w in ("ascending", "spread")}
        self.assertEqual(methods, expected)
        seen = {one["text"]: one["met"] for one in document["statements"]}
        self.assertIsNotNone(seen["device memory: accelerated not below fresh buffers"])
        self.assertNotIn("Not measured: no device", text)

    def test_the_librarys_own_calls_are_measured(self):
        document, text = self.results("--parts", "host", "--ranks", "1", "--preload", "")
        methods = {p["method"]: p["documents"] for p in document["points"] if p["language"] == "c"}
        self.assertTrue(all(methods.values()), document["points"])
        self.assertLessEqual({"normal", "api", "requests", "offload"}, set(methods))

    def test_bad_use_is_refused(self):
        for arguments, expected in (
            (["--parts", "moon"], "not 'moon'"),
            (["--ranks", "many"], "not a list of whole numbers"),
            (["--preload", "/nonexistent.so"], "--preload: there is no /nonexistent.so"),
            (["--library", "/nonexistent.so"], "--library: there is no /nonexistent.so"),
            (["--dir", "/nonexistent"], "is not a folder"),
        ):
            status, _, err = self.drive(*arguments)
            self.assertEqual(status, 2)
            self.assertIn(expected, err)


def row(size, write, read):
    value = {"mean": write, "median": write}
    return {
        "bytes_per_rank": size,
        "write_mib_s": value,
        "write_with_close_mib_s": value,
        "read_mib_s": {"mean": read, "median": read},
    }


class Judgement(BenchTest):
    def measured(self, part, method, write, read=100.0):
        point = plan.Point(part, "fpp", 4, (), "c", "512k", method)
        return measure.Measured(point, [{"sizes": [row(MIB, write, read), row(64 * MIB, write, read)]}])

    def judge(self, accelerated, limit=100.0, found=()):
        runs = [self.measured("disk", "normal", 100.0), self.measured("disk", "accelerated", accelerated)]
        results = measure.Results(runs, {256 * MIB: limit})
        return {one.text: one for one in statements.statements(results, list(found), "library")}

    def test_a_bar_is_met_only_where_the_lowest_ratio_reaches_it(self):
        text = "host memory, accelerated: 0.97 of normal, with fsync"
        self.assertTrue(self.judge(98.0)[text].met)
        self.assertFalse(self.judge(96.0)[text].met)
        self.assertIn("lowest 0.96 of 0.97 at write, c, 512k, 4 ranks", self.judge(96.0)[text].seen)

    def test_what_is_equal_says_what_can_be_told_apart(self):
        runs = [
            self.measured("disk", method, rate)
            for method, rate in (("normal", 100), ("accelerated", 95), ("again", 94))
        ]
        for one in runs:  # the machine is slower now, for all
            one.documents += [
                {"sizes": [row(MIB, one.documents[0]["sizes"][0]["write_mib_s"]["median"] / 3, 30.0)]}
            ] * 2
        seen = statements.statements(measure.Results(runs, {}), [], "library")[1].seen
        self.assertIn("lowest 0.95 of 0.97 at write, c, 512k, 4 ranks, 1 MiB", seen)
        self.assertIn("normal against itself 0.94 to 1.00, 2 below the bar", seen)

    def test_the_limit_counts_from_64_mib_on(self):
        text = "host memory, accelerated: at least 0.95 of one stream to the disk, from 64 MiB per rank on, with fsync"
        self.assertTrue(self.judge(98.0)[text].met)
        self.assertFalse(self.judge(98.0, limit=104.0)[text].met)
        self.assertIn("1 of 1", self.judge(98.0)[text].seen)

    def test_other_tools_may_be_a_tenth_faster(self):
        peer = peers.Peer("tool", "pipe", "MiB/s", 100, 91, 0.91)
        text = "ipc: pipe within 10% of well-known tools"
        self.assertIsNone(self.judge(98.0)[text].met)
        self.assertTrue(self.judge(98.0, found=[peer])[text].met)

    def test_sizes_and_ranks_follow_the_machine(self):
        room = plan.Room(512 * MIB, 2)
        self.assertEqual(room.ranks(plan.RANKS), (1, 2, 4, 8, 16))
        self.assertEqual(room.sizes(4, plan.SIZES_MIB), (1, 8, 32, 128))
        self.assertEqual(plan.Room(8 * MIB, 16).ranks(plan.RANKS), (1, 2, 4, 8))


if __name__ == "__main__":
    harness.main("fpp", "ipc")
