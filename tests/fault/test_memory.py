# SPDX-FileCopyrightText: 2026 The Millrace authors
# SPDX-License-Identifier: Apache-2.0
"""The small part of memory.py's table: enough to see a leak or a bound that is off."""

import pytest
from conftest import LAUNCHERS
from memory import AGENT_EXTRA_MIB, MIB, PATTERNS, RANK_MIB, measure

SIZE = 256 * MIB


@pytest.mark.parametrize("name", PATTERNS)
def test_agent_and_ranks_stay_within_their_memory(tmp_path, name):
    if not LAUNCHERS["mpich"]:
        pytest.skip("no mpich here")
    stock = measure(tmp_path / "stock", "mpich", 4, name, SIZE, False)
    sample = measure(tmp_path / "run", "mpich", 4, name, SIZE, True, sort_buffer="16MiB")
    assert sample.file == SIZE
    assert 0 < sample.agent <= (16 + AGENT_EXTRA_MIB) * MIB
    assert sample.rank - stock.rank <= RANK_MIB * MIB


def test_the_channel_is_settable_and_bounds_what_a_rank_shares(tmp_path):
    if not LAUNCHERS["mpich"]:
        pytest.skip("no mpich here")
    rings = {}
    for channel in (64 * 1024, 4 * MIB):
        folder = tmp_path / str(channel)
        rings[channel] = measure(folder, "mpich", 2, "strided", SIZE, True, channel=channel).rings
    # A ring is mapped twice, back to back; beside the rings there is the page of the agent.
    assert rings[64 * 1024] < 2 * MIB < rings[4 * MIB] <= 2 * 2 * 4 * MIB + 2 * MIB
