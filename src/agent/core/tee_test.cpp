// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// A file goes from node to node, and each node keeps a copy.
#include <gtest/gtest.h>

#include "agent/core/testing/ring_rig.hpp"

namespace millrace::agent {
namespace {

FileSettings with(Strategy strategy) {
  FileSettings settings = tiny(strategy, true);
  settings.sort_buffer_bytes = 4 * MiB;
  return settings;
}

// Rank 0 of node 0 writes the file.
void send(RingRig& rig, std::size_t size) {
  std::vector<std::byte> data(50'000);
  for (std::size_t at = 0; at < size; at += data.size()) {
    data.resize(std::min(data.size(), size - at));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>((at + i) * 31 >> 3);
    rig.write(0, at, data);
    if (at % 8 == 0) rig.step();
  }
}

bool answered(RingRig& rig, std::uint32_t node, std::uint32_t request, std::uint64_t step_ns = 1000) {
  for (int i = 0; i < 20000 && !rig.node[node]->answered(0, request); ++i) rig.step(step_ns);
  return rig.node[node]->answered(0, request);
}

TEST(Tee, AFlushIsAnsweredWhenEveryNodeHasEveryByte) {
  for (const Strategy strategy : {Strategy::automatic, Strategy::immediate, Strategy::sort}) {
    for (const std::uint32_t nodes : {2u, 3u, 6u}) {
      RingRig rig(chain, nodes, 1, with(strategy));
      send(rig, 3'000'001);
      rig.node[0]->core.ask(transport::Kind::flush, 0, rig.slot[0], 7, everything);
      ASSERT_TRUE(answered(rig, 0, 7));
      EXPECT_TRUE(rig.node[0]->reply(0, 7).ok());
      for (const auto& node : rig.node) {
        const auto copy = node->storage.contents(0);
        EXPECT_TRUE(std::ranges::equal(copy, rig.oracle)) << nodes << " nodes";
      }
      for (const RingRig::Way& way : rig.ways) EXPECT_EQ(way.wire->bytes, rig.oracle.size()) << "once a link";
    }
  }
}

TEST(Tee, ACloseOfAllEndsItWithoutWaitingForAnybody) {
  RingRig rig(chain, 4, 1, with(Strategy::automatic));
  send(rig, 1'000'000);
  rig.node[0]->core.ask(transport::Kind::flush, 0, rig.slot[0], 7, everything);
  ASSERT_TRUE(answered(rig, 0, 7));
  const std::uint64_t before_ns = rig.node[0]->now_ns;
  rig.close_all(8);
  ASSERT_TRUE(rig.await_all(8));
  EXPECT_LT(rig.node[0]->now_ns - before_ns, 90 * ms) << "nobody waits for a rank that is silent";
  for (int i = 0; i < 1000; ++i) rig.step();
  for (const auto& node : rig.node) {
    EXPECT_TRUE(node->core.idle());
    EXPECT_EQ(node->storage.misuse(), io::Misuse{});
    EXPECT_EQ(node->storage.submitted(io::Op::writeback), 0u) << "a copy need not be on a disk";
  }
}

TEST(Tee, ANodeWithoutSpaceIsToldToTheSource) {
  for (std::uint32_t full = 0; full < 3; ++full) {
    RingRig rig(chain, 3, 1, with(Strategy::automatic));
    rig.node[full]->storage.set_capacity(MiB);
    send(rig, 3'000'000);
    rig.node[0]->core.ask(transport::Kind::flush, 0, rig.slot[0], 7, everything);
    ASSERT_TRUE(answered(rig, 0, 7));
    EXPECT_EQ(rig.node[0]->reply(0, 7).code(), Code::no_space) << "node " << full;
  }
}

TEST(Tee, ALostLinkIsToldToTheSourceAndNothingHangs) {
  for (const std::uint32_t lost : {0u, 1u}) {
    RingRig rig(chain, 3, 1, with(Strategy::automatic));
    send(rig, 500'000);
    const auto cut = std::ranges::find(rig.ways, lost, &RingRig::Way::from);
    cut->open = false;
    cut->wire->status = Code::lost_peer;
    rig.node[cut->to]->core.abandon(RingRig::first_upstream + static_cast<SenderId>(cut - rig.ways.begin()));
    rig.node[0]->core.ask(transport::Kind::flush, 0, rig.slot[0], 7, everything);
    ASSERT_TRUE(answered(rig, 0, 7));
    EXPECT_EQ(rig.node[0]->reply(0, 7).code(), Code::lost_peer);
    rig.close_all(8);
    ASSERT_TRUE(rig.await_all(8));
    for (int i = 0; i < 1000; ++i) rig.step(ms);
    for (const auto& node : rig.node) EXPECT_TRUE(node->core.idle());
  }
}

TEST(Tee, MemoryIsFreeOnlyWhenBothHaveDoneWithIt) {
  RingRig rig(chain, 2, 1, with(Strategy::automatic));
  const std::vector<std::byte> data(4 * KiB, std::byte{1});
  std::size_t taken = 0;
  for (int i = 0; i < 10000; ++i) {
    if (rig.node[0]->core.ready()) rig.node[0]->core.write(0, rig.slot[0], taken++ * data.size(), data);
    rig.step(1'000'000, false);
  }
  EXPECT_LE(taken * data.size(), 4 * MiB + 64 * 4 * KiB)
      << "the link is stuck: buffer and what is on the wire";
}

TEST(Tee, AnAgentThatEndsInTheMiddleWaitsForItsOwnFileOnly) {
  RingRig rig(chain, 3, 1, with(Strategy::automatic));
  const std::vector<std::byte> data(4 * KiB, std::byte{1});
  for (std::size_t i = 0; i < 300; ++i) {
    if (rig.node[0]->core.ready()) rig.node[0]->core.write(0, rig.slot[0], i * data.size(), data);
    rig.step(1000, i < 100);
  }
  rig.node[0]->core.ask(transport::Kind::flush, 0, rig.slot[0], 7, everything);
  rig.step();
  ASSERT_GT(rig.node[0]->storage.in_flight(), 0u);
  ASSERT_FALSE(rig.ways[0].wire->frames.empty());
  ASSERT_FALSE(rig.node[0]->answered(0, 7));
  rig.node.erase(rig.node.begin());  // Rig::AfterCore looks at what is left
  EXPECT_FALSE(rig.ways[0].wire->frames.empty()) << "nobody has waited for the next agent";
}

}  // namespace
}  // namespace millrace::agent
