// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "agent/core/testing/ring_rig.hpp"
#include "agent/core/testing/told.hpp"

namespace millrace::agent {
namespace {

using transport::RoutePlan;

FileSettings with(Strategy strategy, bool merge) {
  FileSettings settings = tiny(strategy, merge);
  settings.sort_buffer_bytes = 16 * MiB;
  return settings;
}

// Pieces of one size belong to the ranks in turn. Each rank writes its pieces in file order.
void write_interleaved(RingRig& rig, std::uint32_t ranks, std::size_t piece, std::size_t pieces) {
  std::vector<std::byte> data(piece);
  for (std::size_t i = 0; i < pieces; ++i) {
    for (std::size_t at = 0; at < piece; ++at) data[at] = static_cast<std::byte>(i * 31 + at);
    rig.write(static_cast<std::uint32_t>(i % ranks), i * piece, data);
    if (i % 64 == 0) rig.step();
  }
}

struct RingCase {
  Topology topology;
  std::uint32_t nodes;
  std::uint32_t lanes;
  Strategy strategy;
};

class EveryWay : public testing::TestWithParam<RingCase> {};

TEST_P(EveryWay, RandomWritesOfManyNodesReachTheFile) {
  const RingCase& c = GetParam();
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    RingRig rig({c.topology, c.lanes, 1 * MiB}, c.nodes, 2, with(c.strategy, seed % 2 == 1));
    std::mt19937_64 random(seed);
    std::vector<std::size_t> blocks(1500);
    std::iota(blocks.begin(), blocks.end(), 0u);
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (const std::size_t block : blocks) {
      std::vector<std::byte> data(1 + random() % 3000);
      std::ranges::generate(data, [&] { return static_cast<std::byte>(random()); });
      rig.write(static_cast<std::uint32_t>(random() % (2 * c.nodes)), block * 3000, data);
      if (random() % 8 == 0) rig.step(1000, random() % 4 != 0);
    }
    rig.close_all(1);
    ASSERT_TRUE(rig.await_all(1)) << "seed " << seed;
    EXPECT_EQ(rig.contents(), rig.oracle) << "seed " << seed;
    for (int i = 0; i < 1000; ++i) rig.step();
    for (const auto& node : rig.node) {
      EXPECT_TRUE(node->core.idle());
      EXPECT_EQ(node->storage.misuse(), io::Misuse{});
    }
  }
}

std::string name_of(const testing::TestParamInfo<RingCase>& info) {
  const char* topologies[] = {"auto", "ring", "tree", "direct"};
  const char* strategies[] = {"auto", "immediate", "sort", "journal"};
  return std::string(topologies[static_cast<int>(info.param.topology)]) + "_nodes" +
         std::to_string(info.param.nodes) + "_lanes" + std::to_string(info.param.lanes) + "_" +
         strategies[static_cast<int>(info.param.strategy)];
}

INSTANTIATE_TEST_SUITE_P(Topologies, EveryWay,
                         testing::Values(RingCase{Topology::ring, 4, 1, Strategy::automatic},
                                         RingCase{Topology::tree, 7, 1, Strategy::automatic},
                                         RingCase{Topology::direct, 4, 1, Strategy::automatic},
                                         RingCase{Topology::ring, 4, 4, Strategy::automatic},
                                         RingCase{Topology::ring, 5, 2, Strategy::sort},
                                         RingCase{Topology::tree, 5, 3, Strategy::sort},
                                         RingCase{Topology::direct, 3, 3, Strategy::immediate},
                                         RingCase{Topology::ring, 3, 1, Strategy::immediate},
                                         RingCase{Topology::direct, 2, 2, Strategy::journal},
                                         RingCase{Topology::ring, 3, 1, Strategy::journal},
                                         RingCase{Topology::direct, 2, 1, Strategy::automatic}),
                         name_of);

TEST(Ring, TheServerWritesWholeChunksOfWhatNodesInterleave) {
  for (const Topology topology : {Topology::ring, Topology::tree, Topology::direct}) {
    RingRig rig({topology, 1, MiB}, 4, 1, with(Strategy::automatic, true));
    write_interleaved(rig, 4, 1000, 8 * 1024);
    rig.close_all(1);
    ASSERT_TRUE(rig.await_all(1));
    EXPECT_EQ(rig.contents(), rig.oracle);
    for (int i = 0; i < 1000; ++i) rig.step();
    ASSERT_EQ(rig.node[0]->reports.size(), 1u);
    const std::string& report = rig.node[0]->reports[0];
    EXPECT_EQ(number_at(report, "/agent/seeks"), 0u);
    EXPECT_LE(number_at(report, "/agent/writes_out"), 64u)
        << "chunks of 128 KiB must not leave before they are complete";
  }
}

TEST(Ring, AServerThatSortsWaitsForAgentsThatAreSilentFor600Ms) {
  for (const Strategy strategy : {Strategy::sort, Strategy::journal}) {
    RingRig rig({Topology::ring, 1, MiB}, 3, 1, with(strategy, true));
    write_interleaved(rig, 3, 1000, 3 * 1024);
    rig.close_all(1);
    for (int i = 0; i < 4; ++i) rig.step(150'000'000, false);
    ASSERT_TRUE(rig.await_all(1));
    EXPECT_EQ(rig.contents(), rig.oracle);
    for (int i = 0; i < 1000; ++i) rig.step();
    EXPECT_EQ(number_at(rig.node[0]->reports.at(0), "/agent/seeks"), 0u);
  }
}

// python/millrace/stats/reader.py depends on this.
TEST(Ring, ReportsTellWhatRanksGaveFromWhatWasPassedOn) {
  for (const Topology topology : {Topology::ring, Topology::tree, Topology::direct}) {
    RingRig rig({topology, 2, MiB}, 4, 1, with(Strategy::automatic, true));
    write_interleaved(rig, 4, 1000, 8 * 1024);
    rig.close_all(1);
    ASSERT_TRUE(rig.await_all(1));
    for (int i = 0; i < 1000; ++i) rig.step();
    std::uint64_t in = 0, passed_on = 0, written = 0;
    for (std::size_t n = 0; n < 4; ++n) {
      ASSERT_EQ(rig.node[n]->reports.size(), 2u) << "one line per lane";
      for (const std::string& line : rig.node[n]->reports) {
        EXPECT_EQ(number_at(line, "/nodes"), 4u);
        EXPECT_EQ(number_at(line, "/node"), n);
        EXPECT_EQ(number_at(line, "/ranks/opens"), 1u) << "agents upstream are none";
        in += number_at(line, "/agent/bytes_in");
        (word_at(line, "/sink") == "next agent" ? passed_on : written) += number_at(line, "/agent/bytes_out");
      }
    }
    EXPECT_EQ(in - passed_on, rig.oracle.size());
    EXPECT_EQ(written, rig.oracle.size());
  }
}

TEST(Ring, WhatANodeHasPassedOnIsDirtyUntilTheServerHasIt) {
  RingRig rig({Topology::direct, 1, MiB}, 2, 1, with(Strategy::automatic, true));
  rig.write(1, 0, std::vector<std::byte>(100, std::byte{7}));
  EXPECT_TRUE(rig.node[1]->core.dirty(rig.slot[1]));
  rig.node[1]->core.ask(transport::Kind::flush, 0, rig.slot[1], 5, {0, 100});
  for (int i = 0; i < 100; ++i) rig.step(1000, false);
  EXPECT_FALSE(rig.node[1]->answered(0, 5)) << "it has not left this node";
  for (int i = 0; i < 100; ++i) rig.step();
  ASSERT_TRUE(rig.node[1]->answered(0, 5));
  EXPECT_TRUE(rig.node[1]->reply(0, 5).ok());
  EXPECT_EQ(rig.contents(), rig.oracle) << "a flush is answered when the file system has the bytes";
  rig.sync_all(6);
  ASSERT_TRUE(rig.await_all(6));
  EXPECT_FALSE(rig.node[1]->core.dirty(rig.slot[1]));
}

// Each rank writes after the arrive of the rank before. The file gets the bytes of the last write.
TEST(Ring, WhatHasArrivedIsNotInTheFileYetButAheadOfWhatComesLater) {
  for (const Topology topology : {Topology::ring, Topology::tree, Topology::direct}) {
    for (const Strategy strategy : {Strategy::automatic, Strategy::immediate, Strategy::sort}) {
      RingRig rig({topology, 2, MiB}, 5, 1, with(strategy, true));
      for (std::uint32_t turn = 0; turn < 10; ++turn) {
        const std::uint32_t rank = (turn * 3 + 1) % 5;
        rig.write(rank, MiB - 600 + turn * 50, std::vector<std::byte>(1000, static_cast<std::byte>(turn)));
        rig.node[rank]->core.ask(transport::Kind::arrive, 0, rig.slot[rank], 10 + turn);
        for (int i = 0; i < 1000 && !rig.node[rank]->answered(0, 10 + turn); ++i) rig.step();
        ASSERT_TRUE(rig.node[rank]->answered(0, 10 + turn)) << "no wait for other ranks";
      }
      if (strategy != Strategy::immediate) {
        EXPECT_NE(rig.contents(), rig.oracle) << "an arrival is not a flush";
      }
      EXPECT_EQ(rig.node[4]->core.dirty(rig.slot[4]), true)
          << "it wrote, and its bytes may not be in the file";
      rig.node[2]->core.ask(transport::Kind::flush, 0, rig.slot[2], 40, everything);
      for (int i = 0; i < 1000; ++i) rig.step();
      ASSERT_TRUE(rig.node[2]->answered(0, 40));
      EXPECT_EQ(rig.contents(), rig.oracle) << "a flush is for what came from other nodes, too";
      rig.close_all(50);
      ASSERT_TRUE(rig.await_all(50));
      EXPECT_EQ(rig.contents(), rig.oracle);
    }
  }
}

TEST(Ring, ASyncOfAllNodesIsOnTheDiskOfTheServer) {
  for (const std::uint32_t lanes : {1u, 3u}) {
    RingRig rig({Topology::ring, lanes, MiB}, 3, 2, with(Strategy::automatic, true));
    write_interleaved(rig, 6, 5000, 600);
    rig.sync_all(1);
    ASSERT_TRUE(rig.await_all(1));
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const std::uint32_t server = transport::file_server({Topology::ring, lanes, MiB}, 3, lane);
      EXPECT_GE(rig.node[server]->storage.submitted(io::Op::datasync), 1u);
      const auto stable = rig.node[server]->storage.stable(0);
      const auto all = rig.node[server]->storage.contents(0);
      EXPECT_TRUE(std::ranges::equal(stable, all));
    }
    EXPECT_EQ(rig.contents(), rig.oracle);
    rig.close_all(2);
    ASSERT_TRUE(rig.await_all(2));
  }
}

TEST(Ring, AServerWithoutSpaceIsKnownOnEveryNode) {
  RingRig rig({Topology::ring, 1, MiB}, 4, 1, with(Strategy::automatic, true));
  rig.node[0]->storage.set_capacity(MiB);
  write_interleaved(rig, 4, 4000, 2000);
  rig.close_all(1);
  ASSERT_TRUE(rig.await_all(1));
  for (const auto& node : rig.node) EXPECT_EQ(node->reply(0, 1).code(), Code::no_space);
}

TEST(Ring, ALostLinkIsAnErrorOnBothSidesAndNothingHangs) {
  for (const Topology topology : {Topology::ring, Topology::direct}) {
    RingRig rig({topology, 1, MiB}, 3, 1, with(Strategy::automatic, true));
    write_interleaved(rig, 3, 3000, 500);
    const auto cut = std::ranges::find(rig.ways, 2u, &RingRig::Way::from);
    cut->open = false;
    cut->wire->status = Code::lost_peer;
    rig.node[cut->to]->core.abandon(RingRig::first_upstream + static_cast<SenderId>(cut - rig.ways.begin()));
    rig.close_all(1);
    ASSERT_TRUE(rig.await_all(1));
    EXPECT_EQ(rig.node[2]->reply(0, 1).code(), Code::lost_peer);
    EXPECT_EQ(rig.node[cut->to]->reply(0, 1).code(), Code::lost_peer) << "a part of the file is missing";
  }
}

TEST(Ring, AnAgentThatNeverComesIsGivenUp) {
  Rig rig;
  const Fd file = rig.storage.create();
  const FileSlot slot = rig.open_fed(file, tiny(Strategy::automatic, true), 2);
  ASSERT_TRUE(rig.core.join(100, slot, 0, 1).ok());
  rig.core.close(0, slot, 1, counters(1));
  ASSERT_TRUE(rig.await(0, 1));
  rig.step(ms);
  EXPECT_FALSE(rig.core.idle()) << "it may still come";
  rig.step(61'000 * ms);
  rig.step(ms);
  EXPECT_FALSE(rig.core.idle()) << "the one that has come is still there";
  rig.core.close(100, slot, 1, counters(1));
  for (int i = 0; i < 10; ++i) rig.step(ms);
  EXPECT_FALSE(rig.core.idle()) << "its ranks may close just now";
  rig.step(10'000 * ms);
  for (int i = 0; i < 10; ++i) rig.step(ms);
  EXPECT_TRUE(rig.core.idle()) << "a minute after the open is over by now";
}

TEST(Ring, ACloseIsPassedOnBehindThoseOfAgentsThatComeLate) {
  Rig rig;
  auto wire = std::make_shared<Wire>();
  const FileSlot slot = rig.open_fed(rig.storage.create(), tiny(Strategy::automatic, true), 1, 1,
                                     std::make_unique<MemoryCarrier>(wire));
  const auto closes = [&] {
    return std::ranges::count(wire->frames, transport::Kind::close, &Wire::Frame::kind);
  };
  rig.core.close(0, slot, 1, counters(1));
  for (int i = 0; i < 100; ++i) rig.step(ms);
  EXPECT_EQ(closes(), 0) << "an agent may bring records";
  ASSERT_TRUE(rig.core.join(100, slot, 0, 1).ok());
  rig.core.write(100, slot, 0, std::vector<std::byte>(100));
  rig.core.close(100, slot, 1, counters(1));
  for (const Wire::Frame& frame : wire->frames) {
    if (frame.request != 0) wire->answers.push_back({frame.request, {}});
  }
  for (int i = 0; i < 1000 && closes() == 0; ++i) rig.step(ms);
  EXPECT_EQ(wire->frames.back().kind, transport::Kind::close);
}

TEST(Ring, WhatARankLeftThatHasGoneWaitsForNoAgent) {
  Rig rig;
  const Fd file = rig.storage.create();
  const FileSlot slot = rig.open_fed(file, tiny(Strategy::sort, true), 1);
  rig.fill(0, slot, 0, 100, 1);
  rig.core.abandon(0);
  for (int i = 0; i < 10; ++i) rig.step(ms);
  EXPECT_FALSE(rig.core.dirty(slot));
  EXPECT_TRUE(rig.same(0));
  EXPECT_FALSE(rig.core.idle()) << "it may still come";
}

TEST(Ring, AFileThatRanksHereHaveClosedIsAnotherOneForWhoOpensItNext) {
  Rig rig;
  const Fd file = rig.storage.create();
  const auto open = [&](std::uint64_t group) {
    return rig.open_fed(file, tiny(Strategy::automatic, true), 1, group);
  };
  const FileSlot first = open(1);
  ASSERT_TRUE(rig.core.join(100, first, 0, 1).ok());
  rig.fill(0, first, 0, 100, 1);
  rig.core.close(0, first, 1, counters(1));
  EXPECT_EQ(open(2), first) << "bytes of it are to come";
  rig.core.close(0, first, 2, counters(1));
  ASSERT_TRUE(rig.await(0, 1) && rig.await(0, 2));
  ASSERT_FALSE(rig.core.idle()) << "the agent of another node has it open";
  const FileSlot next = open(3);
  EXPECT_NE(next, first);
  EXPECT_EQ(open(3), next) << "ranks of one open share it";
  rig.core.abandon(100);  // breaks the first one only
  rig.fill(0, next, 50, 100, 2);
  rig.core.ask(transport::Kind::flush, 0, next, 3, everything);
  ASSERT_TRUE(rig.await(0, 3));
  EXPECT_TRUE(rig.reply(0, 3).ok());
  EXPECT_TRUE(rig.same(0));
}

TEST(Ring, WhereAPeerIsLostNobodyElseIsAwaited) {
  RingRig rig({Topology::ring, 1, MiB}, 3, 1, with(Strategy::automatic, true));
  rig.node[1]->core.close(0, rig.slot[1], 1, counters(1));
  const auto next = std::ranges::find(rig.ways, 1u, &RingRig::Way::from);
  next->open = false;
  next->wire->status = Code::lost_peer;
  const auto upstream = std::ranges::find(rig.ways, 2u, &RingRig::Way::from);
  upstream->open = false;
  rig.node[1]->core.abandon(RingRig::first_upstream + static_cast<SenderId>(upstream - rig.ways.begin()));
  for (int i = 0; i < 500; ++i) rig.step(ms);
  EXPECT_TRUE(rig.node[1]->core.idle());
}

// Every node writes bytes whose file server is the next node, as fast as its agent takes them. All buffers
// and all links become full.
TEST(Ring, FullBuffersOfAgentsThatServeEachOtherAreNoDeadlock) {
  constexpr std::uint32_t nodes = 3;
  constexpr std::size_t stripes = 12;
  for (const Topology topology : {Topology::direct, Topology::ring, Topology::tree}) {
    for (const Strategy strategy : {Strategy::automatic, Strategy::immediate, Strategy::sort}) {
      RingRig rig({topology, nodes, MiB}, nodes, 1, tiny(strategy, true));
      const std::vector<std::byte> data(4 * KiB, std::byte{3});
      std::vector<std::size_t> done(nodes);
      for (int idle = 0; idle < 20000 && std::ranges::min(done) < stripes * 256; ++idle) {
        for (std::uint32_t n = 0; n < nodes; ++n) {
          for (int burst = 0; burst < 1000 && done[n] < stripes * 256 && rig.node[n]->core.ready(); ++burst) {
            const std::uint64_t stripe = done[n] / 256 * nodes + (n + 1) % nodes;
            rig.node[n]->core.write(0, rig.slot[n], stripe * MiB + done[n]++ % 256 * 4 * KiB, data);
            idle = 0;
          }
        }
        rig.step(1'000'000, idle % 4 == 3);
      }
      ASSERT_EQ(std::ranges::min(done), stripes * 256)
          << "topology " << static_cast<int>(topology) << ", strategy " << static_cast<int>(strategy);
      rig.close_all(1);
      ASSERT_TRUE(rig.await_all(1));
    }
  }
}

TEST(Ring, MemoryStaysBoundedWhileTheLinkIsStuck) {
  RingRig rig({Topology::direct, 1, MiB}, 2, 1, tiny(Strategy::automatic, true));
  std::size_t taken = 0;
  const std::vector<std::byte> data(4 * KiB, std::byte{1});
  for (int i = 0; i < 10000; ++i) {
    if (rig.node[1]->core.ready()) {
      rig.node[1]->core.write(0, rig.slot[1], taken * data.size(), data);
      ++taken;
    }
    rig.step(1'000'000, false);
  }
  EXPECT_LE(taken * data.size(), 1 * MiB + 64 * 4 * KiB) << "buffer and what is on the wire";
  EXPECT_GE(taken * data.size(), 512 * KiB);
}

// The open fails where another node's agent refuses the file, or cannot be reached.
TEST(Ring, AfterAnOpenThatFailedElsewhereNoAgentWaitsOrCallsAnother) {
  Rig server;
  const FileSlot served = server.open_fed(server.storage.create(), with(Strategy::sort, true), 1);
  server.core.close(0, served, 1, {}, true);
  EXPECT_TRUE(server.await(0, 1));
  for (int i = 0; i < 10; ++i) server.step();
  EXPECT_TRUE(server.core.idle());
  Rig rig;
  const auto wire = std::make_shared<Wire>();
  const FileSlot slot = rig.open_fed(rig.storage.create(), with(Strategy::sort, true), 0, 1,
                                     std::make_unique<MemoryCarrier>(wire));
  rig.core.close(0, slot, 1, {}, true);
  EXPECT_TRUE(rig.await(0, 1));
  for (int i = 0; i < 10; ++i) rig.step();
  EXPECT_TRUE(rig.core.idle());
  EXPECT_TRUE(wire->frames.empty());
}

TEST(Ring, AWithdrawalLeavesTheAgentsOfAnotherGroupTheirTime) {
  Rig rig;
  const Fd file = rig.storage.create();
  const FileSlot slot = rig.open_fed(file, with(Strategy::automatic, true), 1);
  ASSERT_EQ(rig.open_fed(file, with(Strategy::automatic, true), 1, 2), slot);
  rig.core.close(0, slot, 1, {}, true);
  rig.core.close(0, slot, 2, {});
  EXPECT_TRUE(rig.await(0, 2));
  for (int i = 0; i < 10; ++i) rig.step();
  EXPECT_FALSE(rig.core.idle());
  ASSERT_TRUE(rig.core.join(100, slot, 0, 1).ok());
  rig.core.close(100, slot, 3, {});
  EXPECT_TRUE(rig.await(100, 3));
  for (int i = 0; i < 10; ++i) rig.step();
  EXPECT_TRUE(rig.core.idle());
}

}  // namespace
}  // namespace millrace::agent
