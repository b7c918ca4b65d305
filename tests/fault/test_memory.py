# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The small part of memory.py's table: enough to see a leak or a bound that is off."""

import pytest
from conftest import LAUNCHERS
from memory import AGENT_EXTRA_MIB, MIB, PATTERNS, RANK_MIB, measure

SIZE = 128 * MIB  # more than either bound, so that a leak of everything is seen


@pytest.mark.parametrize("name", PATTERNS)
def test_agent_and_ranks_stay_within_their_memory(tmp_path, name):
    if not LAUNCHERS["mpich"]:
        pytest.skip("no mpich here")
    stock = measure(tmp_path / "stock", "mpich", 4, name, SIZE, False)
    sample = measure(tmp_path / "run", "mpich", 4, name, SIZE, True, sort_buffer="16MiB")
    assert sample.file == SIZE
    assert 0 < sample.agent <= (16 + AGENT_EXTRA_MIB) * MIB
    assert sample.rank - stock.rank <= RANK_MIB * MIB
    # Each rank has a ring of 1 MiB, mapped twice, back to back; there is also the page of the agent.
    assert sample.rings <= (4 * 2 * 1 + 2) * MIB
