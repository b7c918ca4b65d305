# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The guide's examples run."""

import re

import pytest
from conftest import ROOT
from millrace import native

EXAMPLES = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "guide.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(2))
def test_examples_of_the_guide(program, number):
    assert len(EXAMPLES) == 2
    code = EXAMPLES[number]
    if "numpy" in code:
        pytest.importorskip("numpy")
    elif native.find() is None:
        pytest.skip("the C library is not built")
    assert program(code).communicate(timeout=400) == ("", "")
