// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/server/hold_back.hpp"

#include <gtest/gtest.h>

namespace millrace::agent {
namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t many = 1536;  // blocks

TEST(HoldBackTest, LittleMemoryIsNotWorthIt) {
  HoldBack hold;
  EXPECT_FALSE(hold.worth_it(0, 0)) << "no file is open";
  EXPECT_FALSE(hold.worth_it(many - 1, many));
  EXPECT_TRUE(hold.worth_it(many, many));
}

TEST(HoldBackTest, LastsNoLongerThanItsBoundThoughRingsFill) {
  HoldBack hold;
  ASSERT_TRUE(hold.worth_it(many, many));
  for (std::uint64_t t = 0; t < 30; ++t) EXPECT_TRUE(hold.now(ms + t * ms, 2 * many, t, false)) << t;
  EXPECT_FALSE(hold.now(ms + 30 * ms, 2 * many, 30, false));
}

TEST(HoldBackTest, EndsWhereNobodyUsesTheTime) {
  HoldBack hold;
  ASSERT_TRUE(hold.worth_it(many, many));
  EXPECT_TRUE(hold.now(ms, 2 * many, 7, false));
  EXPECT_TRUE(hold.now(6 * ms, 2 * many, 7, false));
  EXPECT_FALSE(hold.now(7 * ms, 2 * many, 7, false));
}

TEST(HoldBackTest, EndsWhenEveryRankWaits) {
  HoldBack hold;
  ASSERT_TRUE(hold.worth_it(many, many));
  EXPECT_FALSE(hold.now(ms, 2 * many, 7, true));
}

TEST(HoldBackTest, BeginsAgainOnlyWhenMuchMoreWaits) {
  HoldBack hold;
  ASSERT_TRUE(hold.worth_it(many, many));
  ASSERT_FALSE(hold.now(ms, 2 * many, 7, true));
  EXPECT_FALSE(hold.worth_it(2 * many - 1, many));
  EXPECT_TRUE(hold.worth_it(2 * many, many));
  EXPECT_FALSE(hold.worth_it(0, many));
  EXPECT_TRUE(hold.worth_it(many, many)) << "the buffer has been empty since";
}

}  // namespace
}  // namespace millrace::agent
