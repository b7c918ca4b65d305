# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs files of tests, or says why this machine cannot (exit status 77)."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIP = 77

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "python"))
    from millrace.tools.cluster import lifecycle, state

    try:
        lifecycle.check(state.Spec("test", 1))
    except state.ClusterError as error:
        print(f"skipped: {error}")
        sys.exit(SKIP)
    try:
        import pytest
        import typer  # noqa: F401
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(SKIP)
    given = [str(HERE / word) if word.endswith(".py") else word for word in sys.argv[1:]]
    words = ["-q", "-rs", "-p", "no:cacheprovider", *given]
    os.environ["PYTHONPATH"] = f"{ROOT / 'python'}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")

    class Collected:
        """Notes whether the file skips itself as a whole. Then it has no tests, and pytest takes that for a failure."""

        skipped = False

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            self.skipped |= report.skipped

    collected = Collected()
    done = pytest.main(words, plugins=[collected])
    sys.exit(SKIP if collected.skipped and done == pytest.ExitCode.NO_TESTS_COLLECTED else done)
