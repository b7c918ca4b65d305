// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/costs/policy.hpp"

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

TEST(Policy, WhatTheLibrarysCallsTookDecides) {
  EXPECT_TRUE(way_of({.bytes = MiB, .pieces = 1, .calls = 1, .factors = {.library = 4096}}).pipeline);
  EXPECT_FALSE(way_of({.bytes = 2 * KiB, .pieces = 1, .calls = 1, .factors = {.library = 256}}).pipeline);
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
  always.call_ps = 1'000'000'000'000;
  EXPECT_EQ(break_even(always, false), GiB) << "bounded";
}

TEST(Policy, AFileInThePipelineLeavesItForClearGainsOnly) {
  const auto entered = [](std::uint64_t size, bool is) {
    return way_of({.bytes = size, .pieces = 1, .calls = 1, .entered = is}).pipeline;
  };
  const std::uint64_t even = break_even({}, false);
  EXPECT_FALSE(entered(even, false));
  EXPECT_TRUE(entered(even, true)) << "as fast";
  EXPECT_FALSE(entered(MiB, true)) << "a large piece";
}

TEST(Account, AFileEntersThePipelineWhenItWouldHavePaid) {
  Costs costs;
  costs.start_ps = 1'000;
  Account alone(costs), one_of_four(costs);
  const Expected gain{150, 50};
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(alone.pays_to_enter(gain, {})) << i;
  EXPECT_TRUE(alone.pays_to_enter(gain, {}));
  const Entrance quarter{.members = 4};
  EXPECT_FALSE(one_of_four.pays_to_enter(gain, quarter));
  EXPECT_FALSE(one_of_four.pays_to_enter({50, 150}, quarter)) << "no gain";
  EXPECT_FALSE(one_of_four.pays_to_enter({100, 50}, quarter));
  EXPECT_TRUE(one_of_four.pays_to_enter(gain, quarter)) << "its neighbours gain as much";
  costs.start_ps = 1024;
  Account crowded(costs);
  const Entrance polled{.crowding = 1024};
  for (int i = 1; i < 8; ++i) EXPECT_FALSE(crowded.pays_to_enter({256, 0}, polled)) << i;
  EXPECT_TRUE(crowded.pays_to_enter({256, 0}, polled)) << "twice as long";
  Costs free;
  EXPECT_TRUE(Account(free).pays_to_enter({0, 0}, {}));
}

TEST(Account, AnAgentThatRunsCostsNoStart) {
  Costs costs;
  costs.start_ps = 1'000'000;
  costs.trip_ps = 100;
  Account account(costs);
  const Entrance runs{.agent_runs = true};
  for (int i = 1; i < 3; ++i) EXPECT_FALSE(account.pays_to_enter({100, 0}, runs)) << i;
  EXPECT_TRUE(account.pays_to_enter({100, 0}, runs)) << "the registration of the file";
  costs.start_ps = 0;
  EXPECT_TRUE(Account(costs).pays_to_enter({0, 0}, runs));
}

TEST(Policy, ALargePieceTakesThePipelineIfItWouldHaveToAskTheAgent) {
  const Costs costs = typical_costs();
  Transfer large{.bytes = 64 * KiB, .pieces = 1, .calls = 1};
  large.entered = true;
  const Choice past = choose({}, {}, large, costs);
  large.trips = 1;
  const Choice asks = choose({}, {}, large, costs);
  EXPECT_FALSE(past.pipeline);
  EXPECT_TRUE(asks.pipeline);
  EXPECT_EQ(asks.expected.direct_ps, past.expected.direct_ps) << "without the question, for the report";
  EXPECT_EQ(asks.ground.value, (past.expected.direct_ps + costs.trip_ps) / 1000);
  large.bytes = 320 * KiB;
  EXPECT_FALSE(choose({}, {}, large, costs).pipeline);
  large.trips = trips_between_nodes;
  EXPECT_TRUE(choose({}, {}, large, costs).pipeline);
  large.bytes = 4 * MiB;
  EXPECT_FALSE(choose({}, {}, large, costs).pipeline);
}

TEST(Account, TheLibrarysCallsTellWhatTheyCost) {
  const Costs costs = typical_costs();
  Account account(costs);
  const Transfer row{.bytes = 3200, .pieces = 1, .calls = 1};
  const Expected before = expected(costs, row);
  EXPECT_EQ(before.calls_ps, before.direct_ps);
  // One of sixteen calls waits for a processor.
  for (int i = 0; i < 2000; ++i) {
    account.library_begins(before.calls_ps);
    account.library_took(i % 16 == 15 ? 1'000'000 : before.calls_ps / 4000);
    account.library_took(1);  // of no such call
  }
  Transfer measured = row;
  measured.factors = account.factors();
  const Expected after = expected(costs, measured);
  EXPECT_NEAR(static_cast<double>(after.direct_ps), static_cast<double>(before.direct_ps) / 4,
              static_cast<double>(before.direct_ps) / 25);
  EXPECT_EQ(after.pipeline_ps, before.pipeline_ps);
  EXPECT_EQ(after.calls_ps, before.calls_ps);
  EXPECT_TRUE(choose({}, {}, row, costs).pipeline);
  EXPECT_FALSE(choose({}, {}, measured, costs).pipeline);
}

TEST(Account, TheAgentTellsWhatItsWorkCosts) {
  const Costs costs = typical_costs();
  const std::uint64_t each_ps = costs.byte_ps + costs.through_byte_ps;
  Account account(costs, {.library = 2000, .agent = 3000});
  EXPECT_EQ(account.factors().agent, 3000U) << "of the last file";
  EXPECT_EQ(account.measured().agent, 0U);
  account.agent_worked(1023 * MiB, 1023 * MiB * 2 * each_ps / 1000);
  EXPECT_NEAR(static_cast<double>(account.measured().agent), 2048, 3);
  EXPECT_EQ(account.measured().library, 0U);
  account.agent_worked(256, 1'000'000);
  EXPECT_LT(account.measured().agent, 4096U) << "a start or an end of a small file tells little";
}

TEST(Policy, TheAgentsReadSmallPiecesBecauseKernelsReadAhead) {
  EXPECT_LT(carried_by_agents(64 * KiB - 1), carried_by_library(64 * KiB - 1));
  EXPECT_GE(carried_by_agents(64 * KiB), carried_by_library(64 * KiB));
  EXPECT_GE(carried_by_agents(MiB), carried_by_library(MiB));
}

TEST(Account, AFileThatIsReadAfterEveryWriteStaysWithTheLibrary) {
  Costs costs;
  costs.start_ps = 1'000;
  costs.trip_ps = 400;
  Account account(costs);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(account.pays_to_enter({150, 50}, {})) << i;
    account.note_question();
  }
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(account.pays_to_enter({150, 50}, {})) << i;
  EXPECT_TRUE(account.pays_to_enter({150, 50}, {})) << "the reads have ended";
}

TEST(Reasons, ADecisionByCostsNamesBothTimesAndThePieces) {
  const Choice direct = way_of({MiB, 16, 16});
  EXPECT_EQ(direct.ground.reason, Reason::library_as_fast);
  EXPECT_EQ(direct.ground.piece_bytes, 64 * KiB);
  EXPECT_EQ(direct.ground.value, direct.expected.direct_ps / 1000);
  EXPECT_EQ(direct.ground.bound, direct.expected.pipeline_ps / 1000);
  EXPECT_EQ(way_of({256, 1, 1}).ground.reason, Reason::pipeline_faster);
}

TEST(Reasons, DirectAboveIsTheBoundOfADecisionByIt) {
  Settings settings;
  settings.direct_above_bytes = 4 * KiB;
  const Ground large = way_of({8 * KiB, 1, 1}, settings).ground;
  EXPECT_EQ(large.reason, Reason::direct_above);
  EXPECT_EQ(large.value, 8 * KiB);
  EXPECT_EQ(large.bound, 4 * KiB);
  EXPECT_EQ(way_of({KiB, 1, 1}, settings).ground.reason, Reason::direct_above);
}

// The text after "--direct-above ", as bytes; 0: the setting is another one.
std::uint64_t proposed(const Choice& choice) {
  const std::string text = setting_for(choice.ground, choice.pipeline);
  const std::string option = "--direct-above ";
  if (!text.starts_with(option)) return 0;
  const Result<std::uint64_t> bytes = parse_bytes(text.substr(option.size()));
  return bytes ? *bytes : 0;
}

TEST(Reasons, TheProposedSettingChangesTheWay) {
  for (const std::uint64_t size :
       {1ul, 3ul, 100ul, 4 * KiB, 16 * KiB, 17 * KiB, 64 * KiB, MiB, 3 * MiB + 1, GiB}) {
    const Choice by_costs = way_of({size, 1, 1});
    Settings settings;
    settings.direct_above_bytes = proposed(by_costs);
    ASSERT_NE(settings.direct_above_bytes, 0) << size;
    const Choice changed = way_of({size, 1, 1}, settings);
    EXPECT_NE(changed.pipeline, by_costs.pipeline) << size;
    settings.direct_above_bytes = proposed(changed);
    EXPECT_EQ(way_of({size, 1, 1}, settings).pipeline, by_costs.pipeline) << size;
  }
}

TEST(Reasons, AnAccountTellsWhatItHasSavedOfTheStart) {
  Costs costs;
  costs.start_ps = 10'000'000;
  Account account(costs);
  EXPECT_FALSE(account.pays_to_enter({1'000'000, 0}, {.members = 2}));
  const Ground ground = account.too_little(512, {.members = 2});
  EXPECT_EQ(ground.reason, Reason::too_little_so_far);
  EXPECT_EQ(ground.value, 1'000);
  EXPECT_EQ(ground.bound, 5'000);
  EXPECT_EQ(setting_for(ground, false), "--direct-above 1KiB");
}

TEST(Reasons, TypicalCostsAreNotMeasured) {
  Costs costs = typical_costs();
  EXPECT_FALSE(costs.measured());
  costs.byte_ps += 1;
  EXPECT_TRUE(costs.measured());
}

}  // namespace
}  // namespace millrace::client
