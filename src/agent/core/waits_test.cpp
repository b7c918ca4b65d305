// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The waits that only concern speed (ADR 23): begin and end of each.
#include <gtest/gtest.h>

#include "agent/core/testing/ring_rig.hpp"

namespace millrace::agent {
namespace {

using Waits = CoreTest;

TEST_F(Waits, sync_does_not_wait_longer_than_100_ms_for_a_silent_rank) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  rig->open(1, file, tiny(Strategy::automatic, true));
  rig->fill(0, slot, 0, 100, 1);
  rig->core.ask(transport::Kind::sync, 0, slot, 1);
  EXPECT_EQ(rig->core.next_deadline_ns(), 0u);
  rig->step();
  EXPECT_EQ(rig->core.next_deadline_ns(), rig->now_ns + 100 * ms);
  rig->step(99 * ms);
  EXPECT_EQ(rig->storage.submitted(io::Op::write), 0u);
  rig->step(ms);
  EXPECT_EQ(rig->storage.submitted(io::Op::write), 1u);
  EXPECT_LT(steps_until(0, 1), 20);
  EXPECT_EQ(rig->core.next_deadline_ns(), UINT64_MAX);
}

TEST_F(Waits, close_waits_for_a_rank_that_is_still_sending_but_2_s_at_most) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  rig->open(1, file, tiny(Strategy::automatic, true));
  rig->fill(0, slot, 0, 100, 1);
  rig->core.close(0, slot, 1, {});
  int steps = 0;
  for (; steps < 5000 && !rig->answered(0, 1); ++steps) {
    rig->fill(1, slot, 1000 + 8 * static_cast<std::uint64_t>(steps), 8, 2);
    rig->step(ms);
    if (steps == 1900) {
      EXPECT_EQ(rig->storage.submitted(io::Op::write), 0u);
    }
  }
  EXPECT_GE(steps, 2000);
  EXPECT_LE(steps, 2020);
  rig->core.close(1, slot, 1, {});  // there is no further rank to wait for
  EXPECT_LT(steps_until(1, 1), 20);
  EXPECT_TRUE(rig->same(0));
}

// The chunks have holes. `blocks` blocks would have neighbours if all ranks had written.
TEST_F(Waits,
       sync_waits_100_ms_for_a_rank_that_has_not_come_if_it_would_leave_half_a_window_of_partial_chunks) {
  constexpr std::uint64_t block = 4 * KiB, half_a_window = MiB / 4 / 2 / block;
  for (const std::uint64_t blocks : {half_a_window - 1, half_a_window}) {
    start();
    transport::Register registration{};
    registration.group = 1;
    registration.members = 2;
    registration.settings = tiny(Strategy::automatic, true);
    const FileSlot slot = *rig->core.open(0, Fd(::dup(file.get())), registration);
    for (std::uint64_t i = 0; i < blocks; ++i) rig->fill(0, slot, 2 * i * block, 100, 1);
    rig->core.ask(transport::Kind::sync, 0, slot, 1);
    rig->step();
    const bool waits = blocks == half_a_window;
    EXPECT_EQ(rig->core.next_deadline_ns() == rig->now_ns + 100 * ms, waits) << blocks;
    rig->step(99 * ms);
    EXPECT_EQ(rig->storage.submitted(io::Op::write) == 0, waits) << blocks;
    EXPECT_LT(steps_until(0, 1), 60);
    rig->core.abandon(0);
    settle();
  }
}

// The storage completes no request. After 25 ms it counts as slow, and the buffer takes records again.
TEST_F(Waits, while_a_quick_storage_has_more_than_a_window_no_record_is_taken_for_25_ms) {
  start({.max_delay_polls = 1'000'000});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::automatic, true));
  constexpr std::size_t chunk = 128 * KiB, window = 256 * KiB;
  rig->step(ms);
  for (std::uint64_t begin = 0; begin <= window; begin += chunk) {
    EXPECT_TRUE(rig->core.ready()) << begin;
    rig->fill(0, slot, begin, chunk, 1);
    rig->step();
  }
  EXPECT_FALSE(rig->core.ready());
  const std::uint64_t slow_ns = rig->core.next_deadline_ns();
  EXPECT_EQ(slow_ns, ms + 1 + 1000 + 25 * ms) << "the first chunk left 1 us after the first step";
  EXPECT_FALSE(rig->core.advance(slow_ns - 1));
  EXPECT_FALSE(rig->core.ready());
  EXPECT_TRUE(rig->core.advance(slow_ns)) << "a pass that is blocked goes on";
  EXPECT_TRUE(rig->core.ready());
  EXPECT_GT(rig->core.next_deadline_ns(), slow_ns) << "the agent need not look again for that";
}

// Half of each block is present, so no chunk is ever complete.
TEST(WaitsOfLanes, a_lane_that_passes_bytes_on_keeps_a_quarter_of_the_window) {
  constexpr std::uint64_t block = 4 * KiB, quarter = MiB / 4 / 4 / block;
  RingRig rig({Topology::ring, 1, MiB}, 2, 1, tiny(Strategy::automatic, true));
  const std::vector<std::byte> half(block / 2, std::byte{7});
  for (std::uint64_t i = 0; i < quarter; ++i) {
    rig.write(1, i * block, half);
    rig.node[1]->step();
  }
  EXPECT_EQ(rig.ways.front().wire->records, 0U);
  rig.write(1, quarter * block, half);
  rig.node[1]->step();
  EXPECT_GT(rig.ways.front().wire->records, 0U);
}

}  // namespace
}  // namespace millrace::agent
