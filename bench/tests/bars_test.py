# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys
import time

import harness
from bars import cases, launch, measure
from harness import BENCH, BUILD, LIB, BenchTest, bounded, mpis
from millrace.tools import session

DRIVER = [sys.executable, str(BENCH / "run_bars.py")]


class Driver(BenchTest):
    def drive(self, *arguments):
        where = ["--build", BUILD, "--dir", self.directory, "--out", self.directory / "out"]
        return bounded([*DRIVER, *where, *arguments], 1200)  # a guard against hangs, not a bar

    def test_the_stock_library_is_measured_alone(self):
        mpi = mpis("ior")[0]
        status, out, err = self.drive(
            "--stock-only",
            "--quick",
            "--at-most",
            "2m",
            "--pairs",
            "1",
            "--mpi",
            mpi,
            "--patterns",
            "fine-4k,large-shared",
        )
        self.assertEqual(status, 0, err + out)
        document = json.loads((self.directory / "out/bars.json").read_text())
        self.assertEqual((document["schema"], document["version"]), ("millrace-bars", 1))
        self.assertEqual([c["verdict"] for c in document["cases"]], ["stock only"] * len(document["cases"]))
        self.assertIn("fine-4k", (self.directory / "out/bars.md").read_text())
        self.assertEqual([p.name for p in self.directory.iterdir()], ["out"])

    def test_a_first_run_is_one_file_of_each_launch_with_and_without_sync(self):
        mpi = mpis("subarray")[0]
        status, out, err = self.drive(
            "--first-run", "--list", "--mpi", mpi, "--ranks", "4", "--patterns", "bricks-768*"
        )
        self.assertEqual(status, 0, err)
        lines = out.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(sum(" -e " in line for line in lines), 2)
        self.assertTrue(all("--no-warm" in line for line in lines))
        wanted = ["--first-run", "--mpi", mpi, "--ranks", "4", "--pairs", "1", "--patterns", "btio-full-W*"]
        shim = LIB / "libmillrace-bench-yield.so"
        status, out, err = self.drive("--quick", *wanted, "--millrace", shim)
        self.assertIn(status, (0, 1), err)
        document = json.loads((self.directory / "out/bars.json").read_text())
        self.assertEqual(document["options"]["repetitions"], 1)
        self.assertEqual([len(case["ratios"]) for case in document["cases"]], [1, 1])

    def test_pairs_give_ratios_for_any_preload(self):
        # The shim in the place of Millrace: what is compared is then the same, and everything is exercised.
        status, _, err = self.drive(
            "--quick",
            "--at-most",
            "2m",
            "--pairs",
            "2",
            "--repetitions",
            "1",
            "--bars",
            "3",
            "--patterns",
            "fine-4k,btio-simple*",
            "--mpi",
            mpis("ior")[0],
            "--millrace",
            LIB / "libmillrace-bench-yield.so",
        )
        self.assertIn(status, (0, 1), err)
        for case in json.loads((self.directory / "out/bars.json").read_text())["cases"]:
            self.assertEqual(case["problem"], "")
            self.assertEqual(len(case["ratios"]), 2)

    def test_a_run_that_never_ends_is_ended(self):
        begin = time.monotonic()
        with self.assertRaisesRegex(session.RunFailed, "no end within 1 s"):
            launch.run_json(["bash", "-c", "sleep 98765 & setsid -w true; sleep 98765"], {}, 1)
        self.assertLess(time.monotonic() - begin, 20)

    def test_a_driver_that_is_ended_ends_what_it_started(self):
        driver = subprocess.Popen(
            [
                *DRIVER,
                "--build",
                str(BUILD),
                "--dir",
                str(self.directory),
                "--stock-only",
                "--out",
                str(self.directory / "out"),
                "--patterns",
                "btio-simple-A",
                "--pairs",
                "1000",
            ],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(600):
            if any(self.directory.glob("millrace-bars-*")):
                break
            time.sleep(0.05)
        children = pathlib.Path(f"/proc/{driver.pid}/task/{driver.pid}/children").read_text().split()
        driver.terminate()
        self.assertEqual(driver.wait(60), 143)
        self.assertTrue(children)
        for child in children:
            self.assertEqual(session.members(int(child)), [])
        self.assertEqual(list(self.directory.glob("millrace-bars-*")), [])

    def test_unverified_data_is_a_failure(self):
        text = json.dumps({"schema": "millrace-bench", "version": 1, "verified": False})
        with self.assertRaisesRegex(session.RunFailed, "not verified"):
            launch.run_json(["echo", text], {"PATH": "/bin:/usr/bin"}, 10)

    def test_verdicts(self):
        case = cases.Case([2], "p", "mpich", 4, "ior", [], 2.0, 0.7)
        good = measure.Result(case, 1, [100, 100, 100], [250, 240, 190], {"a": [300, 320], "b": [10, 10]})
        self.assertEqual(good.verdict, "pass")
        self.assertEqual(good.limit, 310)
        self.assertEqual(measure.Result(case, 1, [100] * 3, [190] * 3, {"a": [200]}).verdict, "short")
        self.assertEqual(measure.Result(case, 1, [100] * 3, [250] * 3, {"a": [500]}).verdict, "short")
        self.assertEqual(measure.Result(case, 1, [100], [250], {"a": [200]}, "broken").verdict, "failed")

    def test_bad_use_is_refused_with_a_reason(self):
        for arguments, expected in (
            (["--bars", "9"], "this program measures"),
            (["--mpi", "lam"], "there is mpich and ompi"),
            (["--patterns", "none", "--stock-only"], "no case is left"),
            (["--millrace", "/nonexistent.so"], "is missing"),
        ):
            status, _, err = self.drive(*arguments)
            self.assertEqual(status, 2)
            self.assertIn(expected, err)

    def test_all_bars_have_cases_for_both_libraries(self):
        everything = cases.select(cases.Selection({2, 3, 4, 7}, ["mpich", "ompi"], [4, 16], ["*"], ["preset"]))
        self.assertEqual({bar for case in everything for bar in case.bars}, {2, 3, 4, 7})
        self.assertEqual(len({case.name for case in everything}), len(everything))


if __name__ == "__main__":
    harness.main("ior", "btio")
