// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/policy.hpp"

#include <gtest/gtest.h>

namespace millrace::client {
namespace {

Choice way_of(const Transfer& transfer, const Settings& settings = {}, const Costs& costs = {}) {
  return choose(settings, settings.file, transfer, costs);
}

TEST(Policy, SmallPiecesTakeThePipelineLargeOnesDoNot) {
  EXPECT_TRUE(way_of({256, 1, 1}).pipeline);
  EXPECT_TRUE(way_of({64 * KiB, 16, 16}).pipeline);
  EXPECT_FALSE(way_of({64 * MiB, 1, 1}).pipeline);
  EXPECT_FALSE(way_of({16 * KiB, 1, 1}).pipeline);
  EXPECT_FALSE(way_of({16 * 16 * KiB, 16, 16}).pipeline) << "as many calls as pieces";
}

TEST(Policy, PiecesOfMemoryThatAreOneInTheFileAreOneCall) {
  EXPECT_TRUE(way_of({MiB, 4096, 4096}).pipeline);
  EXPECT_FALSE(way_of({MiB, 4096, 1}).pipeline);
}

TEST(Policy, WhatGoesToTheDiskTakesThePipelineUpToLargerPieces) {
  EXPECT_TRUE(way_of({.bytes = 64 * KiB, .pieces = 1, .calls = 1, .made_stable = true}).pipeline);
  EXPECT_FALSE(way_of({.bytes = 4 * MiB, .pieces = 1, .calls = 1, .made_stable = true}).pipeline);
}

// The rows of a brick fill half of the file. With rows of 4 KiB, a sieve that rewrites the bytes between rows
// is faster. The same holds for small structs, but not if other ranks own most of the bytes.
TEST(Policy, WhatASieveWritesFasterIsSieved) {
  EXPECT_TRUE(way_of({.bytes = MiB, .pieces = 256, .calls = 256}).pipeline);
  EXPECT_FALSE(way_of({.bytes = MiB, .pieces = 256, .calls = 256, .swept = 2 * MiB}).pipeline);
  EXPECT_FALSE(way_of({.bytes = 12 * KiB, .pieces = KiB, .calls = KiB, .swept = 48 * KiB}).pipeline);
  EXPECT_TRUE(way_of({.bytes = 12 * KiB, .pieces = KiB, .calls = KiB, .swept = 192 * KiB}).pipeline);
  EXPECT_TRUE(
      way_of({.bytes = MiB, .pieces = 256, .calls = 256, .swept = 2 * MiB, .made_stable = true}).pipeline)
      << "rewriting has nothing beside the disk";
}

// The costs of a server behind a link of 1 Gb/s: 300 us for a call and 8 ns for a byte.
TEST(Policy, WhereCallsCostMoreThePipelineTakesLargerPieces) {
  Costs costs;
  costs.call_ps = 300'000'000;
  costs.byte_ps = 8'000;
  EXPECT_TRUE(way_of({64 * KiB, 1, 1}, {}, costs).pipeline);
  EXPECT_FALSE(way_of({16 * MiB, 1, 1}, {}, costs).pipeline);
}

TEST(Policy, WhatFilesHaveTaughtDecides) {
  Costs slow;
  slow.taught_direct = 4 * Costs::taught_nothing;
  EXPECT_TRUE(way_of({MiB, 1, 1}, {}, slow).pipeline);
  Costs quick;
  quick.taught_direct = Costs::taught_nothing / 4;
  EXPECT_FALSE(way_of({2 * KiB, 1, 1}, {}, quick).pipeline);
}

TEST(Policy, AChosenStrategyAlwaysTakesThePipeline) {
  Settings settings;
  settings.file.strategy = Strategy::immediate;
  EXPECT_TRUE(way_of({64 * MiB, 1, 1}, settings).pipeline);
  EXPECT_FALSE(way_of({64 * MiB, 1, 1}, settings).by_costs) << "and starts an agent at once";
}

TEST(Policy, SortTakesWhatThereIsToSort) {
  Settings settings;
  settings.file.strategy = Strategy::sort;
  EXPECT_TRUE(way_of({settings.file.record_max_bytes - 1, 1, 1}, settings).pipeline);
  EXPECT_FALSE(way_of({MiB, 1, 1}, settings).pipeline);
  Transfer transfer{MiB, 1, 1};
  transfer.routed = true;
  EXPECT_TRUE(way_of(transfer, settings).pipeline) << "nodes join what they have";
}

TEST(Policy, DirectCallsStayDirectWhateverTheStrategy) {
  Settings settings;
  settings.file.strategy = Strategy::sort;
  settings.direct_calls = {"collective", "nonblocking"};
  EXPECT_FALSE(way_of({.bytes = 100, .pieces = 1, .calls = 1, .collective = true}, settings).pipeline);
  EXPECT_FALSE(way_of({.bytes = 100, .pieces = 1, .calls = 1, .nonblocking = true}, settings).pipeline);
  EXPECT_TRUE(way_of({100, 1, 1}, settings).pipeline);
}

TEST(Policy, TheThresholdCanBeSet) {
  Settings settings;
  settings.direct_above_bytes = 1 * MiB;
  EXPECT_TRUE(way_of({512 * KiB, 1, 1}, settings).pipeline);
  EXPECT_FALSE(way_of({512 * KiB, 1, 1}, settings).by_costs);
  EXPECT_FALSE(way_of({MiB, 1, 1}, settings).pipeline);
}

TEST(Policy, TheBreakEvenIsWhereTheChoiceTurns) {
  Costs server;
  server.call_ps = 300'000'000;
  server.byte_ps = 8'000;
  Costs never;
  never.record_ps = 10'000'000;
  for (const Costs& costs : {Costs{}, typical_costs(), server, never}) {
    for (const bool made_stable : {false, true}) {
      const std::uint64_t size = break_even(costs, made_stable);
      EXPECT_FALSE(
          way_of({.bytes = size, .pieces = 1, .calls = 1, .made_stable = made_stable}, {}, costs).pipeline)
          << size;
      if (size == 1) continue;
      EXPECT_TRUE(way_of({.bytes = size - 1, .pieces = 1, .calls = 1, .made_stable = made_stable}, {}, costs)
                      .pipeline)
          << size;
    }
  }
  EXPECT_EQ(break_even(never, false), 1U);
  EXPECT_GT(break_even(server, false), break_even({}, false));
  Costs always;
  always.taught_direct = 8 * Costs::taught_nothing;
  EXPECT_EQ(break_even(always, false), GiB) << "bounded";
}

TEST(Account, AnAgentIsStartedWhenItWouldHavePaidForItself) {
  Costs costs;
  costs.start_ps = 1'000;
  Account alone(costs), one_of_four(costs);
  const Expected gain{150, 50};
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(alone.pays_for_start(gain, 1)) << i;
  EXPECT_TRUE(alone.pays_for_start(gain, 1));
  EXPECT_FALSE(one_of_four.pays_for_start(gain, 4));
  EXPECT_FALSE(one_of_four.pays_for_start({50, 150}, 4)) << "no gain";
  EXPECT_FALSE(one_of_four.pays_for_start({100, 50}, 4));
  EXPECT_TRUE(one_of_four.pays_for_start(gain, 4)) << "its neighbours gain as much";
  costs.start_ps = 1024;
  Account crowded(costs);
  for (int i = 1; i < 8; ++i) EXPECT_FALSE(crowded.pays_for_start({256, 0}, 1, 1024)) << i;
  EXPECT_TRUE(crowded.pays_for_start({256, 0}, 1, 1024)) << "twice as long";
  Costs free;
  EXPECT_TRUE(Account(free).pays_for_start({0, 0}, 1));
}

TEST(Account, QuestionsEndThePipelineThatDoesNotPayForThem) {
  Costs costs;
  costs.trip_ps = 100;
  Account idle(costs), busy(costs);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(idle.pays_for_question()) << i;
  EXPECT_FALSE(idle.pays_for_question());
  for (int i = 0; i < 1000; ++i) {
    busy.add({150, 30});
    EXPECT_TRUE(busy.pays_for_question()) << i;
  }
}

TEST(Account, WhatIsSavedUpIsBounded) {
  Costs costs;
  costs.trip_ps = 100;
  Account account(costs);
  for (int i = 0; i < 1000; ++i) account.add({150, 50});
  int questions = 0;
  while (account.pays_for_question()) ASSERT_LT(++questions, 100);
  EXPECT_GE(questions, 60);
}

}  // namespace
}  // namespace millrace::client
