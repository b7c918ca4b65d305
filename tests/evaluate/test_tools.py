# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""What is not here is said, with what to do."""

from millrace.prefix import Prefix
from millrace.tools.evaluate.tools import Tools


def test_without_hpcc_its_absence_is_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    tools = Tools.here(Prefix(tmp_path), tmp_path, scheduler=True)
    assert "hpcc is not installed" in tools.why_not("hpcc", "ompi")
    assert "ior for openmpi is not built" in tools.why_not("ior", "openmpi")
