# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import sys
import unittest

import harness
import ring  # noqa: F401  (the places of the modules below)
from bars.launch import RunFailed  # noqa: E402
from catwalk import cases as experiments
from catwalk import checks
from harness import BENCH, BUILD, BenchTest, bounded, mpis
from millrace.tools.cluster import lifecycle, slow_disk, state
from ring import cases, measure, report
from ring.nodes import Shape

RING = [sys.executable, str(BENCH / "run_ring.py")]
CATWALK = [sys.executable, str(BENCH / "run_catwalk.py")]


def obstacle():
    """Why no cluster can be made here; empty if one can."""
    try:
        lifecycle.check(state.Spec("bench", 2))
    except state.ClusterError as error:
        return str(error)
    return ""


def left_behind(folder):
    clusters = [p.name for p in pathlib.Path(state.RUN).glob("bench-*")] if state.RUN.is_dir() else []
    return clusters + [p.name for p in folder.iterdir() if p.name != "out"]


class Drivers(BenchTest):
    def setUp(self):
        super().setUp()
        if obstacle():
            self.skipTest(obstacle())
        self.before = left_behind(self.directory)

    def drive(self, program, *arguments):
        where = ["--build", BUILD, "--dir", self.directory, "--out", self.directory / "out"]
        return bounded([*program, *where, "--mpi", mpis("ior")[0], "--timeout", "300", *arguments], 1000)

    def test_a_tiny_run_of_the_bars_across_nodes(self):
        small = ["--nodes", "2", "--per-node", "1", "--at-most", "1m", "--rounds", "1", "--repetitions", "1"]
        status, out, err = self.drive(RING, "--bars", "3", *small)
        document = json.loads((self.directory / "out/ring.json").read_text())
        self.assertEqual((document["schema"], document["version"]), ("millrace-ring", 1))
        for case in document["cases"]:
            if not case["skipped"]:
                self.assertEqual([way["problem"] for way in case["ways"].values()], [""] * len(case["ways"]), err)
        self.assertIn(status, (0, 1), out + err)  # a bar may be missed by so little data
        self.assertIn("fine-4k", (self.directory / "out/ring.md").read_text())
        self.assertEqual(left_behind(self.directory), self.before)

    def test_a_tiny_run_of_the_papers_experiments(self):
        if not slow_disk.find_program({"MILLRACE_PREFIX": str(BUILD)}) or not os.path.exists("/dev/fuse"):
            self.skipTest("slow-disk is not built, or there is no /dev/fuse")
        words = ["--figures", "5a", "--buffers", "1024", "--networks", "unshaped", "--disk-rate", "500MiB/s"]
        status, out, err = self.drive(CATWALK, *words, "--seek-time", "1us")
        self.assertEqual(status, 0, out + err)
        document = json.loads((self.directory / "out/catwalk.json").read_text())
        self.assertEqual(len(document["points"]), 3)
        self.assertIn("not measured: 7, fine grain", out)
        self.assertIn("pass: ", out.replace("fail: ", "pass: "))
        if "drawn:" in out:
            self.assertTrue((self.directory / "out/figure5.png").stat().st_size > 1000)
        self.assertEqual(left_behind(self.directory), self.before)


class Judgement(unittest.TestCase):
    def result(self, **rates):
        case = cases.Case(1, "p", Shape(4), "ior", [], [cases.Way(name) for name in rates])
        runs = {name: measure.Run(values, [1.0] * len(values)) for name, values in rates.items()}
        return measure.Result(case, "mpich", runs, {"server": [100.0, 102.0, 98.0]})

    def test_a_way_is_held_against_limits_and_other_ways(self):
        result = self.result(stock=[10.0, 11.0], direct=[95.0, 91.0, 60.0])
        result.case.needs = [cases.Need("direct", "server", 0.9), cases.Need("direct", "stock", 8)]
        self.assertEqual((result.verdict("direct"), result.verdict("stock")), ("pass", "-"))
        result.case.needs.append(cases.Need("direct", "stock", 9))
        self.assertEqual(result.verdict("direct"), "short")
        self.assertFalse(result.good)

    def test_what_failed_or_was_never_measured_is_not_passed(self):
        result = self.result(stock=[], direct=[95.0])
        result.case.needs = [cases.Need("direct", "stock", 2)]
        self.assertEqual(result.verdict("direct"), "not comparable")
        result.runs["stock"].problem = str(RunFailed("no end"))
        self.assertEqual(result.verdict("stock"), "failed: no end")
        self.assertTrue(all(len(row) == len(report.HEADINGS) for row in report.rows(result)))

    def test_the_busiest_link_is_the_limit(self):
        case = cases.Case(1, "p", Shape(4), "ior", [], [])
        self.assertAlmostEqual(measure.network_limit(case, 114), 152)  # a quarter stays on the server's node
        case.servers = 4
        self.assertAlmostEqual(measure.network_limit(case, 114), 608)
        case.servers, case.shape = 1, Shape(2)
        self.assertAlmostEqual(measure.network_limit(case, 114), 228)

    def test_copies_that_mpi_init_makes_are_counted(self):
        parts = {"stock": {"init": [0.25], "read": [4.0]}, "posix-stage": {"init": [1.25], "read": [0.5]}}
        runs = {name: measure.Run([0.0], [1.0], 3 << 20, "", one) for name, one in parts.items()}
        measure.count_init(runs)
        self.assertEqual(runs["posix-stage"].mib_s, [2.0])

    def test_all_bars_have_cases_of_different_names(self):
        everything = cases.select(cases.Selection(set(range(1, 9)), ["*"], ["glusterfs", "moosefs"]))
        self.assertEqual({case.bar for case in everything}, set(range(1, 9)))
        self.assertEqual(len({case.name for case in everything}), len(everything))
        for case in everything:
            known = {way.name for way in case.ways} | set(case.limits)
            self.assertTrue(all({need.way, need.over} <= known for need in case.needs), case.name)

    def test_bad_use_is_refused_with_a_reason(self):
        for program, arguments, expected in (
            (RING, ["--bars", "9"], "this program measures"),
            (RING, ["--peers", "nfs"], "there is glusterfs and moosefs"),
            (RING, ["--patterns", "none"], "no case is left"),
            (CATWALK, ["--scale", "32"], "no sort buffer may become smaller"),
            (CATWALK, ["--figures", "10"], "no point is left"),
        ):
            status, _, err = bounded([*program, *arguments], 30)
            self.assertEqual(status, 2)
            self.assertIn(expected, err)


class Shapes(unittest.TestCase):
    def test_a_shape_is_seen_and_its_absence_too(self):
        rates = {("7", "", label, size): 30.0 for label in ("sort", "journal", "sort(M)") for size in (16, 1024)}
        rates |= {("7", "", "journal(M)", size): 39.0 for size in (16, 1024)}
        rates["7", "", "immediate", 0] = 38.5
        found = {c.text: c.holds for c in checks.checks(checks.Curves(rates, 40.0)) if "unshaped" in c.text}
        self.assertTrue(found["7, fine grain, unshaped: journal with merging close to the disk's rate"])
        self.assertTrue(found["7, fine grain, unshaped: merging does not harm journal"])
        self.assertFalse(found["7, fine grain, unshaped: merging helps sort with the smallest buffer"])
        self.assertFalse(found["7, fine grain, unshaped: journal with merging ahead of immediate, which seeks"])
        self.assertIsNone(found["5, 4 MiB, unshaped: close to the disk's own rate"])

    def test_every_experiment_is_there_in_five_strategies_and_four_buffers(self):
        phases = experiments.phases(list(experiments.NETWORKS), ["*"], [16, 64, 256, 1024])
        points = [point for _, part in phases for point in part]
        self.assertTrue(all(point.network == network for network, part in phases for point in part))
        self.assertEqual({p.label for p in points}, set(experiments.STRATEGIES))
        self.assertEqual(len({p.name for p in points}), len(points))
        published = json.loads((BENCH / "catwalk/published.json").read_text())["figures"]
        self.assertEqual({p.figure.key for p in points}, set(published))


if __name__ == "__main__":
    harness.main("ior", "btio")
