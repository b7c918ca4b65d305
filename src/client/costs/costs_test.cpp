// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/costs.hpp"

#include <gtest/gtest.h>

#include "base/settings.hpp"

namespace millrace::client {
namespace {

Costs round_figures() {
  Costs costs;
  costs.call_ps = 1'000'000;
  costs.byte_ps = 100;
  costs.disk_byte_ps = 1'200;
  costs.record_ps = 10'000;
  costs.through_byte_ps = 100;
  return costs;
}

TEST(Costs, ADirectTransferPaysForCallsAndTheOtherOneForPiecesAndItsWay) {
  const Expected both = expected(round_figures(), {1000, 10, 4});
  EXPECT_EQ(both.direct_ps, 4'000'000U + 100'000);
  EXPECT_EQ(both.pipeline_ps, 100'000U + 100'000 + 100'000);
}

TEST(Costs, TheDiskComesAfterDirectWritesAndBesideThePipeline) {
  const Expected both =
      expected(round_figures(), {.bytes = 1000, .pieces = 10, .calls = 4, .made_stable = true});
  EXPECT_EQ(both.direct_ps, 4'000'000U + 100'000 + 1'000'000);
  EXPECT_EQ(both.pipeline_ps, 1'200'000U + 200'000)
      << "slower than the copies, and a part has nothing beside it";
}

TEST(Costs, ASievePaysForWhatItSweeps) {
  Costs costs = round_figures();
  costs.swept_byte_ps = 50;
  costs.swept_piece_ps = 2'000;
  const Expected both = expected(costs, {.bytes = 1000, .pieces = 10, .calls = 10, .swept = 4000});
  EXPECT_EQ(both.direct_ps, 1'000'000U + 10 * 2'000 + 4000 * 50);
}

TEST(Costs, RanksThatHaveMetAndPollDelayTheAgent) {
  const Costs costs = round_figures();
  Transfer transfer{.bytes = 1024, .pieces = 10, .calls = 4, .crowding = crowding(16, 2)};
  const std::uint64_t alone = expected(costs, transfer).pipeline_ps;
  EXPECT_EQ(alone, expected(costs, {1024, 10, 4}).pipeline_ps) << "nobody polls";
  transfer.met = true;
  EXPECT_EQ(expected(costs, transfer).pipeline_ps, alone + 1024 * 200 / 2) << "half of what the agent works";
  transfer.swept = 4096;
  EXPECT_EQ(expected(costs, transfer).pipeline_ps, alone + 4 * 1024 * 200) << "beside ranks that sieve";
  transfer.swept = 0;
  EXPECT_EQ(expected(costs, transfer).direct_ps, expected(costs, {1024, 10, 4}).direct_ps);
  EXPECT_EQ(crowding(4, 2), 1024U);
  EXPECT_EQ(crowding(2, 2), 512U);
  EXPECT_EQ(crowding(1, 2), 0U) << "a processor is free for the agent";
  EXPECT_EQ(crowding(16, 0), 0U);
}

TEST(Costs, SmallPiecesOfOneCallShareRecords) {
  Costs costs = round_figures();
  costs.record_ps = 100'000;
  costs.bundled_ps = 1'000;
  const Expected both = expected(costs, {1000, 10, 10});
  EXPECT_EQ(both.pipeline_ps, 100'000U + 10 * 1'000 + 1000 * 50 + 200'000);
  const Expected one = expected(costs, {1000, 1, 1});
  EXPECT_EQ(one.pipeline_ps, 100'000U + 200'000) << "a piece alone is a record";
}

TEST(Costs, WhatTheLibrarysCallsTookIsAFactor) {
  const Expected both =
      expected(round_figures(), {.bytes = 1000, .pieces = 10, .calls = 4, .factors = {.library = 2048}});
  EXPECT_EQ(both.direct_ps, 2 * 4'100'000U);
  EXPECT_EQ(both.calls_ps, 4'100'000U);
}

TEST(Costs, WhatTheAgentsWorkTookIsAFactorOfItsPartAlone) {
  const Transfer transfer{.bytes = 1000, .pieces = 1, .calls = 1};
  Transfer slower = transfer;
  slower.factors.agent = 3072;
  const Expected by_costs = expected(round_figures(), transfer), both = expected(round_figures(), slower);
  EXPECT_EQ(both.direct_ps, by_costs.direct_ps);
  EXPECT_EQ(both.pipeline_ps - by_costs.pipeline_ps, 2 * 200'000U);
}

TEST(Costs, TextBringsThemBack) {
  Costs costs = round_figures();
  costs.start_ps = 7;
  Costs again;
  ASSERT_TRUE(parse(to_text(costs), again));
  EXPECT_EQ(to_text(again), to_text(costs));
  EXPECT_EQ(again.start_ps, 7U);
}

TEST(Costs, TextThatIsNonsenseChangesNothing) {
  for (const char* text : {"call_ps 5\nbyte_ps x\n", "call_ps 5\nbyte_ps 0\n", "call_ps 5\nbyte_ps -1\n",
                           "call_ps\n", "call_ps 5 \n", "call_ps 99999999999999999999\n"}) {
    Costs costs = round_figures();
    EXPECT_FALSE(parse(text, costs)) << text;
    EXPECT_EQ(to_text(costs), to_text(round_figures())) << text;
  }
  Costs costs = round_figures();
  EXPECT_TRUE(parse("call_ps 5\nof_another_version 1\n", costs));
  EXPECT_EQ(costs.call_ps, 5U);
}

}  // namespace
}  // namespace millrace::client
