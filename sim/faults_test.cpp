// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Random clusters, programs and faults, by seed. MILLRACE_TEST_SEED: the first seed; MILLRACE_TEST_SEEDS: the
// number of seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "draws.hpp"
#include "fiber.hpp"
#include "oracle.hpp"
#include "run.hpp"
#include "scale.hpp"

namespace millrace::sim {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

bool has_jump(const Scenario& scenario) {
  return std::ranges::any_of(scenario.faults,
                             [](const Fault& fault) { return fault.kind == FaultKind::clock_jump; });
}

std::uint64_t stagings(const Scenario& scenario) {
  const auto stages = [](const Opening& opening) { return opening.stage.has_value(); };
  return (scenario.stage ? 1 : 0) + static_cast<std::uint64_t>(std::ranges::count_if(scenario.later, stages));
}

TEST(Faults, EveryPromiseHoldsUnderEverySeed) {
  const std::uint64_t first = number("MILLRACE_TEST_SEED", 1);
  const std::uint64_t seeds = number("MILLRACE_TEST_SEEDS", 200);
  std::uint64_t told = 0, faulty = 0, bad = 0, again = 0, jumps = 0, staged = 0, copied = 0, onlookers = 0;
  for (std::uint64_t seed = first; seed < first + seeds && bad < 5; ++seed) {
    const Scenario scenario = make_scenario(seed);
    const Outcome outcome = run(scenario);
    faulty += scenario.faults.empty() ? 0 : 1;
    again += scenario.later.size();
    jumps += has_jump(scenario) ? 1 : 0;
    onlookers += scenario.conduct.onlooker ? 1 : 0;
    staged += stagings(scenario);
    copied += outcome.copies > 0 ? 1 : 0;
    told += outcome.errors;
    bad += outcome.problems.empty() ? 0 : 1;
    for (const std::string& problem : outcome.problems)
      ADD_FAILURE() << problem << "\nto see it: millrace-sim --trace " << seed << "\n" << scenario.describe();
  }
  std::cout << seeds << " seeds, " << faulty << " with faults, " << jumps << " of them jumps of a clock, "
            << again << " times opened again, " << staged << " files staged, " << copied
            << " runs with copies on all nodes, " << onlookers << " onlookers, " << told
            << " ranks told of errors\n";
  if (seeds < 100) return;
  EXPECT_GT(faulty, seeds / 2);
  EXPECT_GT(again, seeds / 10);
  EXPECT_GT(jumps, seeds / 20);
  EXPECT_GT(staged, seeds / 10);
  EXPECT_GT(copied, staged / 4);
  EXPECT_GT(onlookers, seeds / 50);
  EXPECT_GT(told, seeds / 10) << "faults that nobody meets test nothing";
}

// Runs in which ranks read through the agents.
// `least`: reads that the agents carry in a run, on average.
void read_through_agents(std::uint64_t first, std::uint64_t seeds, std::uint64_t least) {
  std::uint64_t faulty = 0, through = 0, bad = 0;
  for (std::uint64_t seed = first; seed < first + seeds && bad < 5; ++seed) {
    const Scenario scenario = make_scenario(seed);
    const Outcome outcome = run(scenario);
    faulty += scenario.reads.faults.empty() ? 0 : 1;
    through += outcome.through;
    bad += outcome.problems.empty() ? 0 : 1;
    for (const std::string& problem : outcome.problems)
      ADD_FAILURE() << problem << "\nto see it: millrace-sim --trace " << seed << "\n" << scenario.describe();
  }
  std::cout << seeds << " seeds, " << faulty << " with faults, " << through << " reads through agents\n";
  EXPECT_GT(faulty, seeds / 4);
  EXPECT_GT(through, least * seeds);
}

TEST(Reads, ThroughAgentsAreRightUnderEverySeed) {
  read_through_agents(first_reading_seed, number("MILLRACE_TEST_SEEDS", 320), 100);
}

TEST(Reads, OfAFileUntilItIsWrittenAreRightUnderEverySeed) {
  read_through_agents(first_until_written_seed, number("MILLRACE_TEST_SEEDS", 120), 50);
}

// Runs on a file system that stalls, and that tells of lost bytes at close(2).
TEST(Storing, EveryPromiseHoldsUnderEverySeed) {
  const std::uint64_t seeds = number("MILLRACE_TEST_SEEDS", 60);
  std::uint64_t told = 0, bad = 0, long_stalls = 0;
  for (std::uint64_t seed = first_storing_seed; seed < first_storing_seed + seeds && bad < 5; ++seed) {
    const Scenario scenario = make_scenario(seed);
    const Outcome outcome = run(scenario);
    told += outcome.errors;
    bad += outcome.problems.empty() ? 0 : 1;
    long_stalls += std::ranges::any_of(scenario.faults, [](const Fault& fault) {
      return fault.kind == FaultKind::stall && fault.for_ns > 60'000'000'000;
    });
    for (const std::string& problem : outcome.problems)
      ADD_FAILURE() << problem << "\nto see it: millrace-sim --trace " << seed << "\n" << scenario.describe();
  }
  std::cout << seeds << " seeds, " << long_stalls << " stalls longer than a minute, " << told
            << " ranks told of errors\n";
  EXPECT_GT(long_stalls, seeds / 20);
  EXPECT_GT(told, seeds / 60) << "closes that never fail test nothing";
}

// Runs on a file system that tells no times of birth.
TEST(Birthless, EveryPromiseHoldsUnderEverySeed) {
  for (std::uint64_t i = 0; i < number("MILLRACE_TEST_SEEDS", 60); ++i) {
    const Scenario scenario = make_scenario(first_birthless_seed + i);
    for (const std::string& problem : run(scenario).problems)
      ADD_FAILURE() << problem << "\nto see it: millrace-sim --trace " << scenario.seed << "\n"
                    << scenario.describe();
  }
}

// The seeds at the beginning of the rows of found.txt.
TEST(Faults, WhatWasFoundStaysRight) {
  std::ifstream table(MILLRACE_FOUND);
  std::uint64_t seeds = 0;
  for (std::string row; std::getline(table, row);) {
    std::istringstream words(row);
    for (std::uint64_t seed = 0; words >> seed; ++seeds) {
      const Scenario scenario = make_scenario(seed);
      for (const std::string& problem : run(scenario).problems)
        ADD_FAILURE() << problem << "\n" << scenario.describe();
    }
  }
  EXPECT_GE(seeds, 36);
}

TEST(Faults, TheSameSeedHasTheSameTrace) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Scenario scenario = make_scenario(seed);
    const Outcome one = run(scenario), other = run(scenario, true);
    EXPECT_EQ(one.hash, other.hash) << scenario.describe();
    EXPECT_LE(one.events, other.trace.size());
  }
}

// GB/s of 16 nodes with a GiB each and one file server.
double rate(Topology topology, std::uint64_t shrink) {
  Scale scale;
  scale.nodes = 16;
  scale.lanes = 1;
  scale.topology = topology;
  scale.shrink = shrink;
  const Outcome outcome = run(make_scale(scale));
  EXPECT_TRUE(outcome.problems.empty()) << outcome.problems.front();
  return 16.0 * GiB / static_cast<double>(outcome.virtual_ns);
}

TEST(Scale, TheRateIsTheSameForHalfAsManyBytes) {
  for (const Topology topology : {Topology::direct, Topology::tree, Topology::ring})
    EXPECT_NEAR(rate(topology, 2048) / rate(topology, 1024), 1.0, 0.1);
}

TEST(Scale, AServersLinkIsTheLimitAndInARingAnAgentsProcessor) {
  EXPECT_NEAR(rate(Topology::direct, 1024), 1.25 * 16 / 15, 0.1);
  EXPECT_NEAR(rate(Topology::ring, 1024), 1 / 1.5 * 16 / 15, 0.1)
      << "0.75 ns to receive a byte, and to send it";
}

TEST(Fiber, GoesOnWhereItStoppedAndReturnsThroughItsFrames) {
  std::string said;
  struct Frame {
    explicit Frame(std::string& text) : out(text) {}
    ~Frame() { out += "left "; }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    std::string& out;
  };
  std::unique_ptr<Fiber> first, second;
  const auto body = [&said](const std::unique_ptr<Fiber>& self, const char* name) {
    const Frame frame(said);
    for (int i = 0; i < 2; ++i) {
      said += name + std::to_string(i) + " ";
      self->stop();
    }
  };
  first = std::make_unique<Fiber>([&] { body(first, "a"); });
  second = std::make_unique<Fiber>([&] { body(second, "b"); });
  const Fiber never([] { FAIL(); });
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(first->ended());
    first->resume();
    second->resume();
  }
  EXPECT_TRUE(first->ended() && second->ended());
  EXPECT_EQ(said, "a0 b0 a1 b1 left left ");
}

TEST(Oracle, FindsWhatIsLostWrongOrOld) {
  Oracle oracle;
  std::vector<std::byte> file(100);
  const std::uint32_t first = oracle.add(0, {10, 90});
  oracle.fill(first, 10, std::span(file).subspan(10, 80));
  oracle.acknowledge(0, false);
  const std::uint32_t second = oracle.add(1, {20, 40});
  EXPECT_EQ(oracle.check(file, {0, 100}, -1, false), "") << "the second may be on its way";
  EXPECT_NE(oracle.check(file, {0, 100}, 1, false), "") << "but its own rank has to see it";
  oracle.acknowledge(1, false);
  EXPECT_NE(oracle.check(file, {0, 100}, -1, false), "") << "old";
  EXPECT_EQ(oracle.check(file, {0, 100}, -1, false, oracle.moment() - 1), "") << "but it was right before";
  EXPECT_EQ(oracle.check(file, {0, 100}, -1, true), "") << "nothing was promised to be on the disk";
  oracle.fill(second, 20, std::span(file).subspan(20, 20));
  EXPECT_EQ(oracle.check(file, {0, 100}, 1, false), "");
  file[50] = std::byte{0};
  EXPECT_NE(oracle.check(file, {0, 100}, -1, false), "") << "lost";
  oracle.fill(first, 50, std::span(file).subspan(50, 1));
  file[5] = std::byte{1};
  EXPECT_NE(oracle.check(file, {0, 100}, -1, false), "") << "where nobody wrote";
}

TEST(Oracle, WhatWasAcknowledgedIsThereWhenTheFileIsOpenedAgain) {
  Oracle oracle;
  std::vector<std::byte> file(100);
  const std::uint32_t stable = oracle.add(0, {0, 10});
  oracle.acknowledge(0, true);
  (void)oracle.add(0, {10, 20});
  oracle.acknowledge(0, false);
  (void)oracle.add(0, {20, 30});  // the rank got an error
  oracle.fill(stable, 0, std::span(file).first(10));
  EXPECT_NE(oracle.check(file, {0, 100}, -1, false), "");
  oracle.begin_again(true);
  EXPECT_EQ(oracle.check(file, {0, 100}, -1, false), "") << "the node's cache was lost";
  EXPECT_TRUE(oracle.acknowledge(0, true).empty()) << "a sync covers nothing of who was there before";
  EXPECT_EQ(oracle.check(file, {0, 100}, 0, false), "") << "nor does a rank see it as its own";
  const std::uint32_t newer = oracle.add(0, {0, 10});
  oracle.acknowledge(0, false);
  EXPECT_NE(oracle.check(file, {0, 100}, -1, false), "") << "old bytes came back";
  oracle.fill(newer, 0, std::span(file).first(10));
  EXPECT_EQ(oracle.check(file, {0, 100}, -1, false), "");
}

// One jump is long enough for all peers to count as silent, and one is too short.
TEST(Clock, AJumpOfANodeIsNoWrongByteAndAShortOneNoError) {
  for (const std::uint64_t span_ns : {std::uint64_t{3'000'000'000}, std::uint64_t{300'000'000'000}}) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      Scenario scenario = make_scenario(seed);
      scenario.later.clear();
      scenario.faults = {{FaultKind::clock_jump, 500'000, 0, 0, 0, span_ns}};
      EXPECT_EQ(scenario.benign(), span_ns < 4'000'000'000U);
      for (const std::string& problem : run(scenario).problems)
        ADD_FAILURE() << problem << "\n" << scenario.describe();
    }
  }
}

}  // namespace
}  // namespace millrace::sim
