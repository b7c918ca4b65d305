# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The map of all tests is fresh."""

import os
import shutil
import sys
from pathlib import Path

import pages
import pytest

sys.path.insert(0, str(pages.ROOT / "tests"))
import map as tests_map


@pytest.mark.skipif("TEST_BUILD" not in os.environ, reason="TEST_BUILD names no build")
@pytest.mark.skipif(not (shutil.which("mpicc.mpich") and shutil.which("mpicc.openmpi")), reason="needs both MPIs")
def test_the_map_of_tests_is_fresh():
    written = (pages.ROOT / "tests" / "README.md").read_text()
    assert written == tests_map.page(Path(os.environ["TEST_BUILD"])), "run tests/map.py BUILD > tests/README.md"
