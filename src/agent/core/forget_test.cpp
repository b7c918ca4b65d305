// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Tests what a ledger has after a sync while ranks write on.
#include <algorithm>

#include "agent/core/testing/ledgers.hpp"

namespace millrace::agent {
namespace {

// Rank 1 writes on until the answer to a guest's sync.
TEST_F(Ledgers, after_a_sync_one_has_only_what_ranks_have_written_since) {
  for (const Durability durability : {Durability::node, Durability::server}) {
    start({.max_delay_polls = 20});
    const FileSlot slot = rig->open(0, file, asked(Strategy::journal, durability));
    ASSERT_EQ(rig->open(1, file, asked(Strategy::journal, durability)), slot);
    rig->fill(0, slot, 0, 100, 1);
    create();
    rig->core.close(0, slot, 1, {});
    ASSERT_TRUE(durability == Durability::server || rig->await(0, 1));
    rig->core.ask(transport::Kind::sync, 7, slot, 1);
    std::uint64_t offset = 1000;
    for (; !rig->answered(7, 1) && offset < 100'000; offset += 1000) {
      rig->fill(1, slot, offset, 100, 2);
      rig->step(ms);
    }
    ASSERT_TRUE(rig->answered(7, 1) && rig->reply(7, 1).ok());
    ASSERT_GT(offset, 3000U);
    EXPECT_TRUE(rig->core.keeps(slot));
    EXPECT_EQ(std::ranges::count(offsets_in_ledger(), 0U), 0);
    EXPECT_EQ(std::ranges::count(offsets_in_ledger(durability == Durability::node), 0U), 0);
    for (int i = 0; i < 100; ++i) rig->step(ms);
    EXPECT_EQ(offsets_in_ledger().back(), offset - 1000);
    rig->core.close(1, slot, 2, {});
    ASSERT_TRUE(rig->await(1, 2));
    settle();
    EXPECT_TRUE(rig->same(0));
  }
}

TEST_F(Ledgers, one_that_cannot_forget_goes_before_a_sync_is_answered) {
  constexpr std::uint64_t third = 3;  // of the ledger for the close, of the target, of the ledger
  start({.max_delay_polls = 20, .faults = {{.op = io::Op::datasync, .first = third}}});
  const FileSlot slot = rig->open(0, file, asked(Strategy::sort, Durability::node));
  ASSERT_EQ(rig->open(1, file, asked(Strategy::sort, Durability::node)), slot);
  rig->fill(0, slot, 0, 100, 1);
  rig->core.close(0, slot, 1, {});
  ASSERT_TRUE(rig->await(0, 1));
  rig->core.ask(transport::Kind::sync, 7, slot, 1);
  for (std::uint64_t offset = 1000; !rig->answered(7, 1) && offset < 1'000'000; offset += 1000) {
    if (rig->core.ready()) rig->fill(1, slot, offset, 100, 2);
    rig->step(ms);
  }
  ASSERT_TRUE(rig->answered(7, 1) && rig->reply(7, 1).ok());
  EXPECT_EQ(names(), 0U);
  rig->core.close(1, slot, 2, {});
  ASSERT_TRUE(rig->await(1, 2));
  settle();
  ASSERT_EQ(rig->reports.size(), 1U);
  EXPECT_NE(rig->reports[0].find("no ledger in"), std::string::npos) << rig->reports[0];
  EXPECT_TRUE(rig->same(0));
}

}  // namespace
}  // namespace millrace::agent
