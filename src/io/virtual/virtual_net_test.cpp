// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/virtual_net.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace millrace::io {
namespace {

constexpr std::uint64_t one_second_ns = 1'000'000'000;

// Node 0 listens. Other nodes connect to it and send as fast as possible.
struct NetWorld {
  Timeline timeline;
  Trace trace;
  VirtualNet net;
  std::unique_ptr<Listener> listener;

  explicit NetWorld(std::uint32_t nodes = 3, std::uint64_t seed = 1, NetOptions options = {})
      : timeline(seed), net(timeline, trace, nodes, options), listener(*net.of(0).listen()) {}

  struct Flow {
    std::unique_ptr<Stream> from;
    std::unique_ptr<Stream> to;
    std::vector<std::byte> came;
    std::size_t put = 0;
    bool ended = false;
    Status broken;
  };
  Flow flow(std::uint32_t node) {
    Flow made;
    made.from = *net.of(node).connect(VirtualNet::address_of(0, listener->port()));
    while (made.to == nullptr && timeline.step()) made.to = *listener->accept();
    while (!*made.from->finish_connect() && timeline.step()) {
    }
    return made;
  }
  static std::byte pattern(std::size_t at) { return static_cast<std::byte>(at * 7 + at / 251); }

  void move(Flow& flow, std::size_t bytes) {
    std::vector<std::byte> some(64 << 10);
    for (bool more = true; more && flow.put < bytes && flow.from != nullptr;) {
      const std::size_t size = std::min(some.size(), bytes - flow.put);
      for (std::size_t i = 0; i < size; ++i) some[i] = pattern(flow.put + i);
      const auto sent = flow.from->send(std::span(some).first(size));
      more = sent.ok() && !sent->blocked;
      if (sent.ok()) flow.put += sent->bytes;
    }
    for (;;) {
      const auto got = flow.to->receive(some);
      if (!got.ok()) flow.broken = got.status();
      if (!got.ok() || got->blocked || got->ended) {
        flow.ended |= got.ok() && got->ended;
        return;
      }
      flow.came.insert(flow.came.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(got->bytes));
    }
  }
  // Returns the time until all flows have moved this many bytes.
  std::uint64_t carry(std::vector<Flow*> flows, std::size_t bytes) {
    const std::uint64_t begin = timeline.now_ns();
    for (bool all = false; !all;) {
      all = true;
      for (Flow* one : flows) {
        move(*one, bytes);
        all = all && one->came.size() == bytes;
      }
      if (!all && !timeline.step()) return UINT64_MAX;
    }
    return timeline.now_ns() - begin;
  }
};

TEST(VirtualNet, BytesComeInOrderAtTheRateOfTheLink) {
  NetWorld world;
  auto flow = world.flow(1);
  constexpr std::size_t bytes = 12'500'000;  // 0.1 s
  const std::uint64_t took = world.carry({&flow}, bytes);
  EXPECT_GT(took, one_second_ns / 10);
  EXPECT_LT(took, one_second_ns / 8);
  for (std::size_t at = 0; at < bytes; at += 97) ASSERT_EQ(flow.came[at], NetWorld::pattern(at)) << at;
}

TEST(VirtualNet, TwoSendersShareTheReceiversLink) {
  NetWorld world;
  auto one = world.flow(1), other = world.flow(2);
  const std::uint64_t took = world.carry({&one, &other}, 6'250'000);
  EXPECT_GT(took, one_second_ns / 10);
  EXPECT_LT(took, one_second_ns / 8);
}

TEST(VirtualNet, APipeOnTheWayIsSharedByAllWhoPassIt) {
  NetWorld world;
  const auto slow = world.net.add_pipe(12'500'000, 0);
  world.net.route(1, 0, {slow});
  world.net.route(2, 0, {slow});
  auto one = world.flow(1), other = world.flow(2);
  const std::uint64_t took = world.carry({&one, &other}, 625'000);
  EXPECT_GT(took, one_second_ns / 10);
  EXPECT_LT(took, one_second_ns / 8);
}

TEST(VirtualNet, WhoDoesNotReceiveHoldsTheSender) {
  NetWorld world;
  auto flow = world.flow(1);
  const std::vector<std::byte> some(1 << 20);
  std::size_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    if (const auto moved = flow.from->send(some); moved.ok()) sent += moved->bytes;
    (void)world.timeline.step();
  }
  EXPECT_LE(sent, NetOptions().send_buffer_bytes + NetOptions().window_bytes + NetOptions().segment_bytes);
  EXPECT_FALSE(world.net.ready(flow.from->descriptor()).writable);
}

TEST(VirtualNet, ACutHoldsWhatIsOnItsWayUntilItIsHealed) {
  NetWorld world;
  auto flow = world.flow(1);
  world.net.cut(0, 1);
  world.timeline.after(3 * one_second_ns, [&world] { world.net.heal(0, 1); });
  EXPECT_GT(world.carry({&flow}, 1'000'000), 3 * one_second_ns);
  for (std::size_t at = 0; at < flow.came.size(); at += 97)
    ASSERT_EQ(flow.came[at], NetWorld::pattern(at)) << at;
}

TEST(VirtualNet, WhatIsDelayedNoLongerOvertakesNothing) {
  NetWorld world;
  auto flow = world.flow(1);
  world.net.delay(1, one_second_ns / 100);
  world.timeline.after(one_second_ns / 1000, [&world] { world.net.delay(1, 0); });
  EXPECT_GT(world.carry({&flow}, 1'000'000), one_second_ns / 100);
  for (std::size_t at = 0; at < flow.came.size(); at += 97)
    ASSERT_EQ(flow.came[at], NetWorld::pattern(at)) << at;
}

TEST(VirtualNet, TheEndComesAfterTheLastByte) {
  NetWorld world;
  auto flow = world.flow(1);
  world.move(flow, 100'000);
  flow.from.reset();
  while (!flow.ended && world.timeline.step()) world.move(flow, 0);
  EXPECT_TRUE(flow.ended);
  EXPECT_EQ(flow.came.size(), 100'000u);
}

TEST(VirtualNet, ACrashedProcessIsToldOfAndACrashedHostIsNot) {
  for (const bool silent : {false, true}) {
    NetWorld world;
    auto flow = world.flow(1);
    world.net.crash(1, silent);
    while (world.timeline.step()) world.move(flow, 0);
    EXPECT_EQ(flow.broken.code(), silent ? Code::ok : Code::lost_peer);
  }
}

TEST(VirtualNet, AHostThatIsUpAgainTellsWhoStillSendsToTheOneBefore) {
  NetWorld world;
  auto flow = world.flow(1);
  world.net.crash(0, true);
  const std::vector<std::byte> some(100);
  EXPECT_TRUE(flow.from->send(some).ok());
  while (world.timeline.step()) {
  }
  EXPECT_FALSE(world.net.ready(flow.from->descriptor()).broken) << "nobody can tell";
  world.net.restart(0);
  EXPECT_TRUE(flow.from->send(some).ok());
  while (world.timeline.step()) {
  }
  EXPECT_TRUE(world.net.ready(flow.from->descriptor()).broken);
  EXPECT_EQ(flow.from->error(), Status(Code::lost_peer, ECONNRESET));
}

TEST(VirtualNet, StreamsBetweenTheSameTwoNodesOvertakeEachOther) {
  NetWorld world;
  auto one = world.flow(1), other = world.flow(1);
  const std::vector<std::byte> some(100);
  int overtaken = 0;
  for (int i = 0; i < 100; ++i) {
    (void)one.from->send(some);
    (void)other.from->send(some);
    const auto came = [&world](const NetWorld::Flow& flow) {
      return world.net.ready(flow.to->descriptor()).readable;
    };
    while (!came(one) && !came(other) && world.timeline.step()) {
    }
    overtaken += came(other) ? 1 : 0;
    while (world.timeline.step()) {
    }
    world.move(one, 0);
    world.move(other, 0);
  }
  EXPECT_GT(overtaken, 20) << "though sent later";
  EXPECT_LT(overtaken, 80);
}

TEST(VirtualNet, NobodyListensIsRefused) {
  NetWorld world;
  const auto stream = *world.net.of(1).connect(VirtualNet::address_of(2, 4711));
  while (world.timeline.step()) {
  }
  EXPECT_TRUE(world.net.ready(stream->descriptor()).broken);
  EXPECT_EQ(stream->finish_connect().status(), Status(Code::lost_peer, ECONNREFUSED));
}

TEST(VirtualNet, TheSameSeedGivesTheSameTrace) {
  const auto hash = [](std::uint64_t seed) {
    NetWorld world(3, seed);
    auto one = world.flow(1), other = world.flow(2);
    (void)world.carry({&one, &other}, 1'000'000);
    return world.trace.hash();
  };
  EXPECT_EQ(hash(7), hash(7));
  EXPECT_NE(hash(7), hash(8));
}

}  // namespace
}  // namespace millrace::io
