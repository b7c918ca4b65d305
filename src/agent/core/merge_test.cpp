// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Agents merge at sync and close while records still arrive (ADR 16).
#include <gtest/gtest.h>

#include <random>

#include "agent/core/testing/ring_rig.hpp"
#include "agent/core/testing/told.hpp"

namespace millrace::agent {
namespace {

constexpr std::size_t piece = 4 * KiB;

FileSettings buffer_of(Strategy strategy, std::uint64_t bytes) {
  FileSettings settings = tiny(strategy, true);
  settings.sort_buffer_bytes = bytes;
  return settings;
}

std::vector<std::byte> bytes_of(std::size_t number) {
  std::vector<std::byte> data(piece);
  for (std::size_t at = 0; at < piece; ++at) data[at] = static_cast<std::byte>(number * 31 + at * 7);
  return data;
}

// Four pieces of each node in turn, as in a figure of the Catwalk-ROMIO paper.
void write_in_turns(RingRig& rig, std::uint32_t nodes, std::size_t pieces) {
  for (std::size_t i = 0; i < pieces; ++i) {
    rig.write(static_cast<std::uint32_t>(i / 4 % nodes), i * piece, bytes_of(i));
    if (i % 64 == 0) rig.step();
  }
}

const RingRig::Way& way_from(const RingRig& rig, std::uint32_t node) {
  return *std::ranges::find(rig.ways, node, &RingRig::Way::from);
}

const std::string& report_of(RingRig& rig, std::uint32_t node) {
  for (int i = 0; i < 1000; ++i) rig.step();
  // Earlier reports are lines about a request that takes long.
  return rig.node[node]->reports.back();
}

TEST(Merge, TheServerWritesInOrderBeforeTheAgentUpstreamIsDone) {
  constexpr std::size_t pieces = 4096;
  for (const auto& [strategy, buffer] :
       {std::pair(Strategy::journal, 1 * MiB), {Strategy::journal, 4 * MiB}, {Strategy::sort, 16 * MiB}}) {
    RingRig rig({Topology::ring, 1, MiB}, 4, 1, buffer_of(strategy, buffer));
    write_in_turns(rig, 4, pieces);
    const std::uint64_t early = rig.node[0]->storage.contents(0).size();
    rig.close_all(1);
    const Wire& last = *way_from(rig, 1).wire;
    for (int i = 0; i < 100000 && last.asked == 0; ++i) rig.step();
    EXPECT_EQ(early, 0u);
    EXPECT_GE(rig.node[0]->storage.contents(0).size(), pieces * piece / 2)
        << "strategy " << static_cast<int>(strategy) << ", buffer " << buffer;
    ASSERT_TRUE(rig.await_all(1));
    EXPECT_EQ(rig.contents(), rig.oracle);
    for (const RingRig::Way& way : rig.ways) {
      EXPECT_EQ(way.wire->below_mark, 0u);
      EXPECT_GT(way.wire->marks, 0u);
    }
    EXPECT_EQ(number_at(report_of(rig, 0), "/agent/seeks"), 0u);
  }
}

TEST(Merge, WhatPassesANodeIsNotStoredThere) {
  constexpr std::size_t pieces = 4096;
  RingRig rig({Topology::ring, 1, MiB}, 4, 1, buffer_of(Strategy::journal, 1 * MiB));
  write_in_turns(rig, 4, pieces);
  rig.close_all(1);
  ASSERT_TRUE(rig.await_all(1));
  for (std::uint32_t node = 0; node < 4; ++node) {
    const std::uint64_t stored = number_at(report_of(rig, node), "/agent/journaled_bytes");
    EXPECT_LE(stored, pieces * piece / 4 + 256 * KiB) << "node " << node << " has written a quarter itself";
  }
}

TEST(Merge, SyncsInTurnMergeToo) {
  for (const Strategy strategy : {Strategy::sort, Strategy::journal}) {
    RingRig rig({Topology::tree, 2, MiB}, 5, 1, buffer_of(strategy, 2 * MiB));
    std::uint64_t marks = 0;
    for (std::uint32_t round = 1; round <= 3; ++round) {
      for (std::size_t i = 0; i < 1500; ++i) {
        rig.write(static_cast<std::uint32_t>((i + round) % 5), (i + 700 * (round - 1)) * piece,
                  bytes_of(i * round));
        if (i % 64 == 0) rig.step();
      }
      rig.sync_all(round);
      ASSERT_TRUE(rig.await_all(round)) << "round " << round;
      EXPECT_EQ(rig.contents(), rig.oracle) << "round " << round;
      std::uint64_t now = 0;
      for (const RingRig::Way& way : rig.ways) now += way.wire->marks;
      EXPECT_GT(now, marks) << "round " << round;
      marks = now;
    }
    rig.close_all(9);
    ASSERT_TRUE(rig.await_all(9));
  }
}

// Only the number of seeks depends on marks.
TEST(Merge, MarksThatLieLoseNothing) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    const Strategy strategy = seed % 2 == 0 ? Strategy::sort : Strategy::journal;
    RingRig rig({seed % 3 == 0 ? Topology::tree : Topology::ring, 1, MiB}, 4, 1,
                buffer_of(strategy, 1 * MiB));
    const auto lie = [&] {
      const std::size_t which = random() % rig.ways.size();
      const RingRig::Way& way = rig.ways[which];
      const std::uint64_t offset = random() % 4 == 0 ? UINT64_MAX : random() % (9 * MiB);
      rig.node[way.to]->core.mark(RingRig::first_upstream + static_cast<SenderId>(which), rig.slot[way.to],
                                  offset);
    };
    for (std::size_t i = 0; i < 2000; ++i) {
      rig.write(static_cast<std::uint32_t>(random() % 4), i * piece, bytes_of(random()));
      if (i % 32 == 0) lie();
    }
    for (std::uint32_t node = 0; node < 4; ++node) {
      rig.node[node]->core.close(0, rig.slot[node], 1, counters(1));
      for (int i = 0; i < 20; ++i, lie()) rig.step(1000, random() % 4 != 0);
    }
    bool answered = false;
    for (int i = 0; i < 20000 && !answered; ++i) {
      if (random() % 4 == 0) lie();
      answered = rig.await_all(1, 1'000'000, 1);
    }
    ASSERT_TRUE(answered) << "seed " << seed;
    EXPECT_EQ(rig.contents(), rig.oracle) << "seed " << seed;
  }
}

// No chunk leaves before the rank of node 1 has asked too.
TEST(Merge, WhoeverStillWritesIsWaitedFor) {
  RingRig rig({Topology::ring, 1, MiB}, 3, 1, buffer_of(Strategy::journal, 1 * MiB));
  write_in_turns(rig, 3, 1024);
  rig.node[0]->core.close(0, rig.slot[0], 1, counters(1));
  rig.node[2]->core.close(0, rig.slot[2], 1, counters(1));
  for (int i = 0; i < 90; ++i) rig.step(ms);
  EXPECT_EQ(rig.node[0]->storage.contents(0).size(), 0u);
  rig.node[1]->core.close(0, rig.slot[1], 1, counters(1));
  ASSERT_TRUE(rig.await_all(1));
  EXPECT_EQ(rig.contents(), rig.oracle);
}

// All nodes drain at the same time, through full buffers and full links.
TEST(Merge, AgentsThatServeEachOtherDrainAtTheSameTime) {
  constexpr std::uint32_t nodes = 3;
  constexpr std::size_t stripes = 6;
  for (const Topology topology : {Topology::direct, Topology::ring, Topology::tree}) {
    for (const Strategy strategy : {Strategy::sort, Strategy::journal}) {
      for (const std::size_t room : {2u, 64u}) {
        RingRig rig({topology, nodes, MiB}, nodes, 1, tiny(strategy, true));
        for (RingRig::Way& way : rig.ways) way.wire->room = room;
        std::vector<std::size_t> done(nodes);
        std::vector<bool> closed(nodes);
        int idle = 0;
        for (std::uint32_t all = 0; idle < 20000 && all < nodes; ++idle) {
          for (std::uint32_t n = 0; n < nodes; ++n) {
            for (; done[n] < stripes * 256 && rig.node[n]->core.ready(); ++done[n], idle = 0) {
              const std::uint64_t stripe = done[n] / 256 * nodes + (n + 1) % nodes;
              rig.node[n]->core.write(0, rig.slot[n], stripe * MiB + done[n] % 256 * piece,
                                      bytes_of(done[n]));
            }
            if (done[n] < stripes * 256 || closed[n]) continue;
            rig.node[n]->core.close(0, rig.slot[n], 1, counters(1));
            closed[n] = true;
            ++all;
          }
          rig.step(1'000'000, idle % 4 == 3);
        }
        ASSERT_LT(idle, 20000) << "topology " << static_cast<int>(topology) << ", strategy "
                               << static_cast<int>(strategy) << ", room " << room;
        ASSERT_TRUE(rig.await_all(1, 1'000'000, 100000))
            << "topology " << static_cast<int>(topology) << ", strategy " << static_cast<int>(strategy)
            << ", room " << room;
      }
    }
  }
}

}  // namespace
}  // namespace millrace::agent
