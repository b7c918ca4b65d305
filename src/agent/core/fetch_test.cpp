// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Reads of a file that only one node has: node 0 has the file, and the other nodes have stand-ins.
#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "agent/core/testing/ring_rig.hpp"
#include "agent/requests/fetches.hpp"

namespace millrace::agent {
namespace {

class First : public RingRig {
 public:
  First(Topology topology, std::uint32_t nodes, Strategy strategy = Strategy::automatic)
      : RingRig({topology, 1, 1 * MiB}, nodes, 1, roomy(strategy), true) {}

  void ask(std::uint32_t n, std::uint32_t request, Extent extent) {
    node[n]->core.ask(transport::Kind::fetch, 0, slot[n], request, extent);
  }
  bool await(std::uint32_t n, std::uint32_t request, int steps = 20000) {
    for (int i = 0; i < steps && !node[n]->answered(0, request); ++i) step();
    return node[n]->answered(0, request);
  }
  Status fetch(std::uint32_t n, Extent extent) {
    ask(n, ++last_, extent);
    return await(n, last_) ? node[n]->reply(0, last_) : Status(Code::timeout);
  }
  // The bytes of node n's file in the extent.
  std::vector<std::byte> there(std::uint32_t n, Extent extent) const {
    const auto all = node[n]->storage.contents(0);
    const auto cut = [&](std::uint64_t at) { return std::min<std::uint64_t>(at, all.size()); };
    return {all.begin() + static_cast<std::ptrdiff_t>(cut(extent.begin)),
            all.begin() + static_cast<std::ptrdiff_t>(cut(extent.end))};
  }
  std::vector<std::byte> written(Extent extent) const {
    const auto cut = [&](std::uint64_t at) { return std::min<std::uint64_t>(at, oracle.size()); };
    return {oracle.begin() + static_cast<std::ptrdiff_t>(cut(extent.begin)),
            oracle.begin() + static_cast<std::ptrdiff_t>(cut(extent.end))};
  }
  std::uint64_t size(std::uint32_t n) const { return node[n]->storage.contents(0).size(); }
  void end() {
    close_all(1'000'000);
    EXPECT_TRUE(await_all(1'000'000));
    for (int i = 0; i < 1000; ++i) step();
    for (const auto& one : node) {
      EXPECT_TRUE(one->core.idle());
      EXPECT_EQ(one->storage.misuse(), io::Misuse{});
    }
  }

 private:
  std::uint32_t last_ = 1000;
};

class EveryTopology : public testing::TestWithParam<std::pair<Topology, Strategy>> {};

TEST_P(EveryTopology, WhatAllNodesWroteIsReadOnAllOfThem) {
  const auto [topology, strategy] = GetParam();
  for (unsigned seed = 1; seed <= 3; ++seed) {
    First rig(topology, 4, strategy);
    std::mt19937_64 random(seed);
    for (std::uint32_t i = 0; i < 600; ++i)
      rig.write(i % 4, i * 5000, random_bytes(random, 1 + random() % 5000));
    rig.sync_all(1);
    ASSERT_TRUE(rig.await_all(1));
    for (std::uint32_t request = 2; request < 12; ++request) {  // all nodes at the same time
      std::vector<Extent> wanted;
      for (std::uint32_t n = 0; n < 4; ++n) {
        const std::uint64_t begin = random() % rig.oracle.size();
        wanted.push_back({begin, begin + random() % (2 * MiB)});
        rig.ask(n, request, wanted.back());
      }
      for (std::uint32_t n = 0; n < 4; ++n) {
        ASSERT_TRUE(rig.await(n, request)) << "seed " << seed;
        EXPECT_TRUE(rig.node[n]->reply(0, request).ok());
        EXPECT_EQ(rig.there(n, wanted[n]), rig.written(wanted[n])) << "node " << n << " seed " << seed;
        EXPECT_EQ(rig.size(n), rig.oracle.size());
      }
    }
    rig.end();
  }
}

TEST_P(EveryTopology, ANodeReadsItsOwnWritesAtOnce) {
  const auto [topology, strategy] = GetParam();
  First rig(topology, 4, strategy);
  std::mt19937_64 random(1);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t n = 1 + i % 3;
    const std::uint64_t at = n * MiB + random() % 300'000;
    rig.write(n, at, random_bytes(random, 20'000));
    const Extent wanted{at - 1000, at + 21'000};
    ASSERT_TRUE(rig.fetch(n, wanted).ok());
    const Extent own{n * MiB, (n + 1) * MiB};
    EXPECT_EQ(rig.there(n, intersection(wanted, own)), rig.written(intersection(wanted, own)));
  }
  rig.end();
}

INSTANTIATE_TEST_SUITE_P(Topologies, EveryTopology,
                         testing::Values(std::pair(Topology::direct, Strategy::automatic),
                                         std::pair(Topology::ring, Strategy::automatic),
                                         std::pair(Topology::tree, Strategy::sort),
                                         std::pair(Topology::ring, Strategy::immediate),
                                         std::pair(Topology::direct, Strategy::journal)));

TEST(Fetch, TheSizeCountsWhatIsPendingAnywhereBehind) {
  First rig(Topology::ring, 3);
  rig.write(2, 5'000'000, std::vector<std::byte>(100, std::byte{1}));
  rig.write(2, 0, std::vector<std::byte>(100, std::byte{2}));
  ASSERT_TRUE(rig.fetch(2, {}).ok());
  EXPECT_EQ(rig.size(2), 5'000'100u);
  EXPECT_EQ(rig.node[0]->storage.submitted(io::Op::read), 0u);
  rig.end();
}

// A read between two writes gets zeros, not the end of the file.
TEST(Fetch, AHoleInFrontOfWhatIsPendingIsNoEndOfTheFile) {
  First rig(Topology::direct, 2);
  rig.write(0, 3'000'000, std::vector<std::byte>(100, std::byte{1}));
  rig.write(1, 4'000'000, std::vector<std::byte>(100, std::byte{1}));
  ASSERT_TRUE(rig.fetch(1, {1000, 2000}).ok());
  EXPECT_EQ(rig.there(1, {1000, 2000}), std::vector<std::byte>(1000));
  rig.end();
}

TEST(Fetch, NothingComesFromBehindTheEnd) {
  First rig(Topology::ring, 3);
  rig.write(1, 0, std::vector<std::byte>(1000, std::byte{7}));
  ASSERT_TRUE(rig.fetch(2, {900, 5000}).ok());
  rig.sync_all(1);
  ASSERT_TRUE(rig.await_all(1));
  ASSERT_TRUE(rig.fetch(2, {900, 5000}).ok());
  EXPECT_EQ(rig.there(2, {900, 5000}), std::vector<std::byte>(100, std::byte{7}));
  ASSERT_TRUE(rig.fetch(2, {4000, 5000}).ok());
  EXPECT_EQ(rig.size(2), 1000u);
  rig.end();
}

TEST(Fetch, AFileThatBecameShorterIsSoEverywhere) {
  First rig(Topology::ring, 3);
  rig.write(0, 0, std::vector<std::byte>(MiB, std::byte{7}));
  rig.sync_all(1);
  ASSERT_TRUE(rig.await_all(1));
  ASSERT_TRUE(rig.fetch(2, {0, MiB}).ok());
  EXPECT_EQ(rig.size(2), MiB);
  const auto whole = rig.there(0, {0, 1000});
  rig.node[0]->storage.assign(0, whole);
  ASSERT_TRUE(rig.fetch(2, {0, MiB}).ok());
  EXPECT_EQ(rig.size(2), 1000u);
  EXPECT_EQ(rig.size(1), 1000u);
}

TEST(Fetch, AServerThatCannotReadSaysSoAndIsAskedAgain) {
  for (const Topology topology : {Topology::ring, Topology::direct}) {
    First rig(topology, 3);
    rig.write(2, 0, std::vector<std::byte>(2 * MiB, std::byte{7}));
    rig.sync_all(1);
    ASSERT_TRUE(rig.await_all(1));
    rig.node[0]->storage.set_faults({{io::Op::read, 3, 0, EIO}});
    EXPECT_EQ(rig.fetch(2, {0, 2 * MiB}).code(), Code::io);
    EXPECT_TRUE(rig.node[2]->core.error(rig.slot[2]).ok()) << "nothing that was written is lost";
    EXPECT_TRUE(rig.fetch(2, {0, 2 * MiB}).ok());
    EXPECT_EQ(rig.there(2, {0, 2 * MiB}), rig.oracle);
    rig.end();
  }
}

TEST(Fetch, AStandInWithoutRoomIsAnErrorOfThisReadAlone) {
  First rig(Topology::direct, 2);
  rig.write(1, 0, std::vector<std::byte>(2 * MiB, std::byte{7}));
  rig.sync_all(1);
  ASSERT_TRUE(rig.await_all(1));
  rig.node[1]->storage.set_capacity(MiB);
  EXPECT_EQ(rig.fetch(1, {0, 2 * MiB}).code(), Code::no_space);
  EXPECT_TRUE(rig.fetch(1, {0, MiB / 2}).ok());
  rig.end();
}

TEST(Fetch, ALostLinkIsAnErrorAndNothingHangs) {
  First rig(Topology::ring, 3);
  rig.write(1, 0, std::vector<std::byte>(2 * MiB, std::byte{7}));
  rig.sync_all(1);
  ASSERT_TRUE(rig.await_all(1));
  const auto cut = std::ranges::find(rig.ways, 1u, &RingRig::Way::from);
  rig.ask(2, 2, {0, 2 * MiB});
  for (int i = 0; i < 100 && rig.size(1) == 0; ++i) rig.step();
  cut->answers_come = false;  // from here on, no data and no answer comes
  for (int i = 0; i < 100; ++i) rig.step();
  ASSERT_TRUE(rig.size(1) > 0 && rig.size(1) < 2 * MiB) << "else the test is none";
  cut->open = false;
  cut->wire->status = Code::lost_peer;
  rig.node[0]->core.abandon(RingRig::first_upstream + static_cast<SenderId>(cut - rig.ways.begin()));
  ASSERT_TRUE(rig.await(2, 2));
  EXPECT_EQ(rig.node[2]->reply(0, 2).code(), Code::lost_peer);
  EXPECT_EQ(rig.fetch(2, {0, 100}).code(), Code::lost_peer);
  for (int i = 0; i < 100; ++i) rig.step();
  EXPECT_FALSE(rig.node[0]->core.look(rig.slot[0]).fetching) << "who asked has gone";
}

TEST(Fetch, ANodeWithASlowLinkHoldsUpNoOther) {
  First rig(Topology::direct, 3);
  rig.write(1, 0, std::vector<std::byte>(4 * MiB, std::byte{7}));
  rig.sync_all(1);
  ASSERT_TRUE(rig.await_all(1));
  std::ranges::find(rig.ways, 2u, &RingRig::Way::from)->answers_come = false;
  rig.ask(2, 2, {0, 4 * MiB});
  for (int i = 0; i < 500; ++i) rig.step();
  EXPECT_LE(rig.node[0]->storage.submitted(io::Op::read), Fetches::pieces_max) << "memory is bounded";
  EXPECT_TRUE(rig.fetch(1, {0, 4 * MiB}).ok());
  EXPECT_FALSE(rig.node[2]->answered(0, 2));
  std::ranges::find(rig.ways, 2u, &RingRig::Way::from)->answers_come = true;
  ASSERT_TRUE(rig.await(2, 2));
  EXPECT_EQ(rig.there(2, {0, 4 * MiB}), rig.oracle);
  rig.end();
}

TEST(Fetch, AFileThatAllNodesSeeHasNone) {
  RingRig rig({Topology::direct, 2, MiB}, 2, 1, roomy(Strategy::automatic));
  rig.node[1]->core.ask(transport::Kind::fetch, 0, rig.slot[1], 1, {0, 100});
  rig.step();
  ASSERT_TRUE(rig.node[1]->answered(0, 1));
  EXPECT_EQ(rig.node[1]->reply(0, 1).code(), Code::unsupported);
}

}  // namespace
}  // namespace millrace::agent
