// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/members.hpp"

#include <gtest/gtest.h>

namespace millrace::agent {
namespace {

TEST(MembersTest, OnlyOthersOfTheGroupAreToldOfALostRankAndOnce) {
  Members members(0);
  members.join(1, 7, 2, false);
  members.join(2, 7, 2, false);
  members.join(3, 8, 1, false);
  members.abandon(1);
  EXPECT_FALSE(members.has(1));
  EXPECT_TRUE(members.take_lost_peer(2, 7));
  EXPECT_FALSE(members.take_lost_peer(2, 7));
  EXPECT_FALSE(members.take_lost_peer(3, 8));
}

TEST(MembersTest, AnOpenThatIsClosingLeavesWithItsClose) {
  Members members(0);
  members.join(1, 7, 1, false);
  members.active(1)->closing = true;
  EXPECT_EQ(members.active(1), nullptr);
  EXPECT_FALSE(members.used_by_ranks());
  members.abandon(1);
  EXPECT_TRUE(members.has(1));
  members.leave(1, 7);
  EXPECT_TRUE(members.empty());
  EXPECT_TRUE(members.knows(7));
}

TEST(MembersTest, TheOldestOfTwoOpensIsTheActiveOne) {
  Members members(0);
  members.join(1, 7, 1, false);
  members.join(1, 8, 1, false);
  EXPECT_EQ(members.active(1)->group, 7U);
  members.active(1)->closing = true;
  EXPECT_EQ(members.active(1)->group, 8U);
}

TEST(MembersTest, AgentsAreAwaitedUntilOneOfThemIsLost) {
  Members members(3);
  members.join(1, 7, 0, true);
  EXPECT_EQ(members.awaited(), 2U);
  members.join(2, 7, 0, false);
  EXPECT_EQ(members.awaited(), 2U) << "a rank is not awaited";
  members.abandon(1);
  EXPECT_EQ(members.awaited(), 0U);
  EXPECT_EQ(members.upstreams_seen(), 1U);
  EXPECT_EQ(members.ranks_seen(), 1U);
}

TEST(MembersTest, AGroupLacksRanksUntilAllHaveJoined) {
  Members members(0);
  EXPECT_FALSE(members.lacks(7));
  members.join(1, 7, 2, false);
  EXPECT_TRUE(members.lacks(7));
  members.join(2, 7, 2, false);
  EXPECT_FALSE(members.lacks(7));
}

}  // namespace
}  // namespace millrace::agent
