# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""Runs one file of tests, or says why this machine cannot (exit status 77)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIP = 77
# The network, mounts and processes of the tests go away with these namespaces, even if the tests are killed.
NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def skip(reason: object) -> None:
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def prepare_guests() -> None:
    import guests

    if guests.missing():
        skip(guests.missing())
    if subprocess.run([*NAMESPACES, "true"], check=False).returncode != 0:
        skip("guests need namespaces of their own")
    try:
        guests.make_root()  # here, because only this network has the packages
    except (OSError, RuntimeError) as error:
        skip(f"the guests' packages cannot be loaded: {error}")


def main(name: str, more: list[str]) -> int:
    try:
        import pytest
    except ImportError as error:
        skip(error)
    if os.geteuid() != 0:
        skip("mounts need root")
    if name == "test_nfs.py" and "TEST_IN_NAMESPACES" not in os.environ:
        prepare_guests()
        os.environ["TEST_IN_NAMESPACES"] = "1"
        os.execvp(NAMESPACES[0], [*NAMESPACES, sys.executable, __file__, name, *more])
    words = ["-q", "-rs", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=failed"]
    done = pytest.main([*words, str(HERE / name), *more])
    return SKIP if done == pytest.ExitCode.NO_TESTS_COLLECTED else done


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
