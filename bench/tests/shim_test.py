# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
import json
import os
import sys
import unittest

from harness import BIN, LIB, bounded, mpis

SHIM = LIB / "libmillrace-bench-yield.so"


def barrier_us(count, preload):
    launch = ["mpiexec.hydra", "-n", "16", "-genv", "LD_PRELOAD", preload]
    status, out, err = bounded([*launch, BIN / "barrier-mpich", count])
    assert status == 0, err
    return json.loads(out)["barrier_us"]


class Shim(unittest.TestCase):
    def test_waiting_ranks_give_up_their_core(self):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
        without = barrier_us(10, "")
        with_shim = min(barrier_us(100, SHIM) for _ in range(4))
        print(f"\nbarrier of 16 ranks on 2 cores: {without:.0f} us without the shim, {with_shim:.0f} us with it")
        if without < 5000:
            self.skipTest("this MPICH does not busy-poll through UCX")
        # On an idle machine it is a thousandth; other load takes its turn at every yield.
        self.assertLess(with_shim, without / 3)

    def test_a_program_without_ucx_is_untouched(self):
        status, out, _ = bounded(["env", f"LD_PRELOAD={SHIM}", "echo", "fine"])
        self.assertEqual((status, out), (0, "fine\n"))


if __name__ == "__main__":
    if "mpich" not in mpis("barrier"):
        print("skipped: there is no MPICH")
        sys.exit(77)
    unittest.main()
