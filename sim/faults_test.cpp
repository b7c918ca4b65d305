// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Random clusters, programs and faults, by seed. MILLRACE_TEST_SEED: the first seed; MILLRACE_TEST_SEEDS: the
// number of seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
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

// Seeds that have found bugs.
TEST(Faults, WhatWasFoundStaysRight) {
  // 1125, 1459: a node goes down before the header of its journal is on the disk. 7990: a ledger keeps bytes
  // that another node has overwritten since, and recovery brings them back. 48: full ledgers of several nodes
  // wait for each other. 76, 217: a second open joins the rest of the first open, with its links and errors.
  // 1394: an agent that refuses a file keeps room for its records, and lacks room for records of the open
  // file. 10815: a lost node has a commit on its disk, but not the bytes that it commits. 166, 1306: an open
  // waits for agents that wait for each other, and for an empty ledger. 15909: an open gets errors of an
  // earlier open. 2313, 5485: a failing datasync of another rank loses a rank's direct writes, and only that
  // other rank gets the error. 15389: an open joins the rest of the first open, whose ledger only waits for
  // its own last write. 858: records from a rank's ring come into the ledger after another rank has had the
  // ledger emptied for a direct write. 130: a rank without a part in a file asks for its bytes while all
  // others close. 742: an open looks at the ledgers before the agent notices that the writing ranks are gone.
  // 6496: old bytes of a file of the first node come from another node after new ones. 29778: the ranks'
  // error says that their own agent makes no progress, when another node's agent does not answer. 77, 81,
  // 189: a rank whose agent has died does not ask the agent that another rank has started since. 808, 1317:
  // the second agent, or a direct write, leaves the dead agent's ledger, which comes back later. 1002483,
  // 1003138, 1004515: the judge asked for bytes in the rings of ranks that were killed after their agent.
  // 2000897, 2001498: an agent sends the next one a list of guesses after the last close, and loses it.
  // 5000329: the second close of a descriptor loses bytes, and nobody is told. 7000037, 300220: the judge
  // asked a read for bytes of a ledger; a rescue had the machine's date. 6785: an open joins a file that has
  // failed, because a ledger on which no answer relies is still being written. 1505, 8788: agents live on
  // after the clock was set back, and recovery takes their last sign of life for an earlier one. 5272: a full
  // disk takes a part of a log's header.
  for (const std::uint64_t seed :
       {1125,    1459,    7990,    48,      76,      217,     1394,    10815,  166,  1306, 15909, 2313,
        5485,    15389,   858,     130,     742,     6496,    29778,   77,     81,   189,  808,   1317,
        1002483, 1003138, 1004515, 2000897, 2001498, 5000329, 7000037, 300220, 6785, 1505, 8788,  5272}) {
    const Scenario scenario = make_scenario(seed);
    for (const std::string& problem : run(scenario).problems)
      ADD_FAILURE() << problem << "\n" << scenario.describe();
  }
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
