// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/hold_back.hpp"

#include <gtest/gtest.h>

namespace millrace::agent {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t much = 48 * MiB;

TEST(HoldBackTest, LittleMemoryIsNotWorthIt) {
  HoldBack hold;
  EXPECT_FALSE(hold.worth_it(much - 1));
  EXPECT_TRUE(hold.worth_it(much));
}

TEST(HoldBackTest, LastsNoLongerThanItsBoundThoughRingsFill) {
  HoldBack hold;
  ASSERT_TRUE(hold.worth_it(much));
  for (std::uint64_t t = 0; t < 30; ++t) EXPECT_TRUE(hold.now(ms + t * ms, much, t, false)) << t;
  EXPECT_FALSE(hold.now(ms + 30 * ms, much, 30, false));
}

TEST(HoldBackTest, EndsWhereNobodyUsesTheTime) {
  HoldBack hold;
  ASSERT_TRUE(hold.worth_it(much));
  EXPECT_TRUE(hold.now(ms, much, 7, false));
  EXPECT_TRUE(hold.now(6 * ms, much, 7, false));
  EXPECT_FALSE(hold.now(7 * ms, much, 7, false));
}

TEST(HoldBackTest, EndsWhenEveryRankWaits) {
  HoldBack hold;
  ASSERT_TRUE(hold.worth_it(much));
  EXPECT_FALSE(hold.now(ms, much, 7, true));
}

TEST(HoldBackTest, BeginsAgainOnlyWhenMuchMoreWaits) {
  HoldBack hold;
  ASSERT_TRUE(hold.worth_it(much));
  ASSERT_FALSE(hold.now(ms, much, 7, true));
  EXPECT_FALSE(hold.worth_it(2 * much - 1));
  EXPECT_TRUE(hold.worth_it(2 * much));
  EXPECT_FALSE(hold.worth_it(0));
  EXPECT_TRUE(hold.worth_it(much)) << "the buffer has been empty since";
}

}  // namespace
}  // namespace millrace::agent
