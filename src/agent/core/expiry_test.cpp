// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/core/expiry.hpp"

#include <gtest/gtest.h>

#include "agent/core/testing/ring_rig.hpp"

namespace millrace::agent {
namespace {

constexpr std::uint64_t second = 1000 * ms;

TEST(Expiry, IsDueOnceTheOldestByteIsAsOldAsTheBound) {
  Expiry expiry;
  EXPECT_FALSE(expiry.due(false, 5, 100));
  EXPECT_EQ(expiry.next_deadline_ns(), UINT64_MAX);
  EXPECT_FALSE(expiry.due(true, 10, 100));
  EXPECT_EQ(expiry.next_deadline_ns(), 110U);
  EXPECT_FALSE(expiry.due(true, 109, 100));
  EXPECT_TRUE(expiry.due(true, 110, 100));
  EXPECT_FALSE(expiry.due(true, 111, 100)) << "what comes now is young";
  EXPECT_FALSE(expiry.due(false, 112, 100));
  EXPECT_EQ(expiry.next_deadline_ns(), UINT64_MAX) << "the agent may sleep";
}

TEST(Expiry, AgentsOnTheWayShareTheBound) {
  const auto way = [](std::uint32_t nodes, Topology topology) {
    return 2 * hold_bound_ns(1000, nodes, topology);
  };
  EXPECT_EQ(way(1, Topology::direct), 1000U);
  EXPECT_EQ(way(8, Topology::direct), 500U);
  EXPECT_EQ(way(7, Topology::tree), 332U) << "three levels";
  EXPECT_EQ(way(10, Topology::ring), 100U);
  EXPECT_EQ(way(10, Topology::automatic), 100U) << "a chain";
}

// Pieces with holes between them, so that no chunk is ever complete.
void write_scattered(RingRig& rig, std::uint32_t ranks) {
  const std::vector<std::byte> piece(1000, std::byte{7});
  for (std::uint32_t i = 0; i < 100; ++i) rig.write(i % ranks, 2048U * i, piece);
}

struct Waiting {
  Strategy strategy;
  Topology topology;
  std::uint32_t nodes;
};

class NobodyAsks : public testing::TestWithParam<Waiting> {};

TEST_P(NobodyAsks, WhatWasWrittenIsInTheFileWithinTheBound) {
  const Waiting& c = GetParam();
  RingRig rig({c.topology, 1, MiB}, c.nodes, 1, tiny(c.strategy, true));
  write_scattered(rig, c.nodes);
  std::uint64_t passed_ns = 0;
  for (; passed_ns < 5 * second && rig.contents() != rig.oracle; passed_ns += 10 * ms) rig.step(10 * ms);
  EXPECT_EQ(rig.contents(), rig.oracle);
  if (c.strategy == Strategy::immediate || c.nodes > 1) return;
  EXPECT_GT(passed_ns, second) << "the strategy waits for neighbours";
}

INSTANTIATE_TEST_SUITE_P(Ways, NobodyAsks,
                         testing::Values(Waiting{Strategy::automatic, Topology::direct, 1},
                                         Waiting{Strategy::immediate, Topology::direct, 1},
                                         Waiting{Strategy::sort, Topology::direct, 1},
                                         Waiting{Strategy::automatic, Topology::direct, 4},
                                         Waiting{Strategy::sort, Topology::direct, 4},
                                         Waiting{Strategy::sort, Topology::ring, 4},
                                         Waiting{Strategy::automatic, Topology::tree, 6}));

TEST_F(CoreTest, a_setting_bounds_how_long_bytes_stay) {
  start();
  rig->core.set_bounds({.write_within_ns = 200 * ms});
  const FileSlot slot = rig->open(0, file, tiny(Strategy::sort, true));
  EXPECT_EQ(rig->core.look_every_ns(), 100 * ms);
  rig->fill(0, slot, 100, 50, 1);
  rig->step();
  EXPECT_LE(rig->core.next_deadline_ns(), rig->now_ns + 100 * ms);
  for (int i = 0; i < 10; ++i) rig->step(9 * ms);
  EXPECT_TRUE(rig->core.dirty(slot));
  for (int i = 0; i < 10; ++i) rig->step(9 * ms);
  EXPECT_FALSE(rig->core.dirty(slot));
  EXPECT_TRUE(rig->same(0));
}

TEST_F(CoreTest, who_may_be_killed_soon_writes_out_what_it_has) {
  start();
  const FileSlot slot = rig->open(0, file, tiny(Strategy::sort, true));
  rig->fill(0, slot, 100, 50, 1);
  rig->core.write_out();
  for (int i = 0; i < 10; ++i) rig->step();
  EXPECT_FALSE(rig->core.dirty(slot));
  EXPECT_TRUE(rig->same(0));
  rig->fill(0, slot, 200, 50, 2);
  rig->core.close(0, slot, 1, counters(1));
  EXPECT_LT(steps_until(0, 1), 20) << "and goes on";
  EXPECT_TRUE(rig->same(0));
}

// Records in a ledger outlive the process, so the bound does not make them depart.
TEST_F(CoreTest, a_ledger_keeps_what_the_bound_is_over_for) {
  start();
  FileSettings settings = tiny(Strategy::journal, true);
  settings.durability = Durability::node;
  const FileSlot slot = rig->open(0, file, settings);
  rig->fill(0, slot, 100, 50, 1);
  const std::uint64_t mark = rig->core.ledger_mark(slot);
  EXPECT_FALSE(rig->core.kept(slot, mark));
  for (int i = 0; i < 1000; ++i) rig->step(10 * ms);
  EXPECT_TRUE(rig->core.kept(slot, mark));
  EXPECT_EQ(rig->storage.contents(0).size(), 0U) << "strategy journal sorts until somebody asks";
  rig->core.write_out();
  for (int i = 0; i < 100; ++i) rig->step(10 * ms);
  EXPECT_FALSE(rig->core.dirty(slot)) << "a process may wait that cannot ask";
  rig->core.close(0, slot, 1, counters(1));
  EXPECT_LT(steps_until(0, 1), 100);
  settle();
}

// The rank of node 0 asks for a sync and waits. The rank of node 1 goes on writing, so node 0 merges and
// waits for that rank.
TEST(Expiry, WhatAMergeWaitsWithLeavesWithinTheBound) {
  RingRig rig({Topology::ring, 1, MiB}, 2, 1, tiny(Strategy::sort, true));
  const std::vector<std::byte> piece(1000, std::byte{7});
  rig.write(0, 0, piece);
  rig.node[0]->core.ask(transport::Kind::sync, 0, rig.slot[0], 1);
  for (std::uint64_t passed_ns = 0; passed_ns < 5 * second; passed_ns += 100 * ms) {
    rig.write(1, MiB + passed_ns / ms * 10, piece);
    rig.step(100 * ms);
  }
  EXPECT_FALSE(rig.node[0]->answered(0, 1)) << "it waits for the rank of node 1";
  auto there = rig.contents();
  there.resize(piece.size());
  EXPECT_EQ(there, piece);
}

}  // namespace
}  // namespace millrace::agent
