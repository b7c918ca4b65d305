// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Files that several nodes read through their agents.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "agent/core/testing/ring_rig.hpp"
#include "agent/core/testing/told.hpp"
#include "transport/want_list.hpp"

namespace millrace::agent {
namespace {

// Ascending extents below `end`, with at most `most` bytes in all.
std::vector<Extent> random_list(std::mt19937_64& random, std::uint64_t end, std::uint64_t most) {
  const std::uint64_t piece = std::uint64_t{1} << random() % 17;
  const std::uint64_t hole = std::uint64_t{1} << random() % 18;
  std::vector<Extent> list;
  std::uint64_t bytes = 0;
  for (std::uint64_t at = random() % end; list.size() < 500;) {
    const std::uint64_t size = 1 + random() % piece;
    if (at + size > end || bytes + size > most) break;
    list.push_back({at, at + size});
    bytes += size;
    at += size + random() % hole;
  }
  if (list.empty()) list.push_back({0, 1});
  return list;
}

class Reading : public RingRig {
 public:
  Reading(const transport::RoutePlan& plan, std::uint32_t nodes, std::uint32_t ranks = 2,
          Strategy strategy = Strategy::automatic)
      : RingRig(plan, nodes, ranks, roomy(strategy)), ranks_(ranks) {}

  // Writes random bytes, and brings them to the file servers.
  void fill(std::uint64_t bytes, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    for (std::uint64_t at = 0; at < bytes; at += 100'000)
      write(static_cast<std::uint32_t>(at / 100'000 % (node.size() * ranks_)), at,
            random_bytes(random, std::min<std::uint64_t>(100'000, bytes - at)));
    sync_all(1);
    ASSERT_TRUE(await_all(1));
  }
  void want(std::uint32_t n, SenderId rank, std::uint32_t request, const std::vector<Extent>& list) {
    node[n]->core.want(rank, slot[n], request, list);
  }
  void step_all(int steps = 1) {
    for (int i = 0; i < steps; ++i) step();
  }
  Status await(std::uint32_t n, SenderId rank, std::uint32_t request, int steps = 20000) {
    for (int i = 0; i < steps && !node[n]->answered(rank, request); ++i) step_all();
    return node[n]->answered(rank, request) ? node[n]->reply(rank, request) : Status(Code::timeout);
  }
  // The size of the file, as node n learns it.
  std::uint64_t size(std::uint32_t n) {
    const std::uint32_t request = ++asked_;
    want(n, 0, request, {transport::size_place});
    EXPECT_TRUE(await(n, 0, request).ok());
    std::uint64_t bytes = 0;
    const auto& told = window(n, 0, request);
    if (told.size() == sizeof bytes) std::memcpy(&bytes, told.data(), sizeof bytes);
    return bytes;
  }
  std::vector<std::byte> written(const std::vector<Extent>& list) const {
    std::vector<std::byte> bytes;
    for (const Extent extent : list)
      bytes.insert(bytes.end(), oracle.begin() + static_cast<std::ptrdiff_t>(extent.begin),
                   oracle.begin() + static_cast<std::ptrdiff_t>(extent.end));
    return bytes;
  }
  void end() {
    close_all(1'000'000);
    EXPECT_TRUE(await_all(1'000'000));
    step_all(1000);
    for (const auto& one : node) {
      EXPECT_TRUE(one->core.idle());
      EXPECT_EQ(one->storage.misuse(), io::Misuse{});
    }
  }
  std::uint64_t bytes_back() const {
    std::uint64_t bytes = 0;
    for (const Way& way : ways) bytes += way.wire->bytes_back;
    return bytes;
  }

 private:
  std::uint32_t ranks_;
  std::uint32_t asked_ = 1000;
};

class EveryRoute : public testing::TestWithParam<transport::RoutePlan> {};

TEST_P(EveryRoute, ListsOfAllRanksGetTheirBytes) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    Reading rig(GetParam(), 4);
    std::mt19937_64 random(seed);
    rig.fill(12 * MiB, seed);
    for (std::uint32_t round = 0; round < 4; ++round) {
      std::vector<std::vector<Extent>> lists;
      for (std::uint32_t i = 0; i < 24; ++i) {  // three lists of each rank at once
        lists.push_back(random_list(random, rig.oracle.size(), MiB));
        rig.want(i % 4, i / 4 % 2, 10 + round * 24 + i, lists.back());
        if (random() % 3 == 0) rig.step_all(static_cast<int>(random() % 5));
      }
      for (std::uint32_t i = 0; i < 24; ++i) {
        const std::uint32_t request = 10 + round * 24 + i;
        ASSERT_TRUE(rig.await(i % 4, i / 4 % 2, request).ok()) << "seed " << seed;
        ASSERT_EQ(rig.window(i % 4, i / 4 % 2, request), rig.written(lists[i])) << "seed " << seed;
      }
    }
    rig.end();
  }
}

TEST_P(EveryRoute, ANodeReadsItsOwnWritesAtOnce) {
  Reading rig(GetParam(), 4);
  rig.fill(12 * MiB);
  std::mt19937_64 random(7);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t n = i % 4;
    const std::uint64_t at = n * 3 * MiB + random() % (2 * MiB);
    rig.write(n * 2, at, random_bytes(random, 5000));
    const std::vector<Extent> list{{at - at % 1000, at + 10}, {at + 2000, at + 5000}, {at + 6000, at + 7000}};
    rig.want(n, i % 2, 10 + i, list);
    ASSERT_TRUE(rig.await(n, i % 2, 10 + i).ok());
    ASSERT_EQ(rig.window(n, i % 2, 10 + i), rig.written(list));
  }
  rig.end();
}

INSTANTIATE_TEST_SUITE_P(Routes, EveryRoute,
                         testing::Values(transport::RoutePlan{Topology::direct, 1, MiB},
                                         transport::RoutePlan{Topology::direct, 4, MiB},
                                         transport::RoutePlan{Topology::ring, 1, MiB},
                                         transport::RoutePlan{Topology::ring, 2, MiB},
                                         transport::RoutePlan{Topology::tree, 3, MiB}));

constexpr transport::RoutePlan direct{Topology::direct, 1, MiB};

TEST(Reads, TheLinkCarriesOnceWhatTwoRanksOfANodeWant) {
  Reading rig(direct, 2);
  rig.fill(4 * MiB);
  for (SenderId rank = 0; rank < 2; ++rank) rig.want(1, rank, 10, {{0, MiB}, {2 * MiB, 3 * MiB}});
  for (SenderId rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(rig.await(1, rank, 10).ok());
    EXPECT_EQ(rig.window(1, rank, 10), rig.written({{0, MiB}, {2 * MiB, 3 * MiB}}));
  }
  EXPECT_EQ(rig.bytes_back(), 2 * MiB);
  rig.end();
}

TEST(Reads, TheLinkCarriesOnceWhatMoreRanksWantThanOneListHoldsWithoutSharing) {
  constexpr SenderId ranks = 12;
  static_assert(ranks * MiB > 2 * transport::want_max_bytes);
  Reading rig(direct, 2, ranks);
  rig.fill(4 * MiB);
  for (SenderId rank = 0; rank < ranks; ++rank) rig.want(1, rank, 10, {{MiB, 2 * MiB}});
  for (SenderId rank = 0; rank < ranks; ++rank) {
    ASSERT_TRUE(rig.await(1, rank, 10).ok());
    EXPECT_EQ(rig.window(1, rank, 10), rig.written({{MiB, 2 * MiB}}));
  }
  EXPECT_EQ(rig.bytes_back(), MiB);
  rig.end();
}

TEST(Reads, ListsOfMorePiecesThanOneListHoldsGetTheirBytes) {
  constexpr SenderId ranks = 4;
  Reading rig(direct, 2, ranks);
  rig.fill(MiB);
  std::mt19937_64 random(3);
  std::vector<std::vector<Extent>> lists(ranks);
  for (std::uint64_t at = 0; at < MiB / 4;) {  // pieces of a few bytes, each of a random rank, with holes
    const std::uint64_t end = at + 1 + random() % 12;
    lists[random() % ranks].push_back({at, end});
    at = end + random() % 3;
  }
  std::size_t pieces = 0;
  for (SenderId rank = 0; rank < ranks; ++rank) {
    pieces += lists[rank].size();
    rig.want(1, rank, 10, lists[rank]);
  }
  ASSERT_GT(pieces, transport::want_max_extents);
  for (SenderId rank = 0; rank < ranks; ++rank) {
    ASSERT_TRUE(rig.await(1, rank, 10).ok());
    EXPECT_EQ(rig.window(1, rank, 10), rig.written(lists[rank])) << rank;
  }
  rig.end();
}

TEST(Reads, ReportsAndSpansTellWhatWasReadAndSent) {
  Reading rig(direct, 2);
  for (const auto& one : rig.node) one->core.follow(false, true);
  rig.fill(4 * MiB);
  for (SenderId rank = 0; rank < 2; ++rank) rig.want(1, rank, 10, {{0, MiB}, {2 * MiB, 3 * MiB}});
  for (SenderId rank = 0; rank < 2; ++rank) ASSERT_TRUE(rig.await(1, rank, 10).ok());
  rig.end();
  const auto told = [&](std::uint32_t n, const char* place) {
    return number_at(rig.node[n]->reports.at(0), place);
  };
  EXPECT_EQ(told(1, "/reads/lists"), 2u);
  EXPECT_EQ(told(1, "/reads/bytes_in"), 2 * MiB);
  EXPECT_EQ(told(1, "/reads/bytes_out"), 4 * MiB);
  EXPECT_EQ(told(0, "/reads/lists"), told(1, "/reads/requests"));
  EXPECT_EQ(told(0, "/reads/requests"), 2u) << "blocks of a MiB";
  EXPECT_EQ(told(0, "/reads/bytes_in"), 2 * MiB);
  EXPECT_EQ(told(0, "/reads/bytes_out"), 2 * MiB);
  for (const auto& one : rig.node) {
    std::uint64_t bytes = 0;
    for (const Span& span : one->core.take_spans()) bytes += span.phase == Phase::read ? span.bytes : 0;
    EXPECT_EQ(bytes, 2 * MiB);
  }
}

TEST(Reads, TheServerReadsNearPiecesOfAllNodesAtOnce) {
  Reading rig(direct, 4);
  rig.fill(4 * MiB);
  const std::uint64_t before = rig.node[0]->storage.submitted(io::Op::read);
  for (std::uint32_t n = 0; n < 4; ++n) {
    std::vector<Extent> list;
    for (std::uint64_t at = n * 1024; at < 4 * MiB; at += 4096) list.push_back({at, at + 1024});
    rig.want(n, 0, 10, list);
  }
  for (std::uint32_t n = 0; n < 4; ++n) ASSERT_TRUE(rig.await(n, 0, 10).ok());
  EXPECT_LE(rig.node[0]->storage.submitted(io::Op::read) - before, 12u);
  rig.end();
}

TEST(Reads, AListBehindTheEndOfTheFileFailsAlone) {
  Reading rig(direct, 2);
  rig.fill(MiB);
  rig.want(1, 0, 10, {{0, 100}, {MiB - 10, MiB + 10}});
  rig.want(1, 1, 11, {{50, 200}});
  rig.want(0, 0, 12, {{MiB, MiB + 1}});
  EXPECT_EQ(rig.await(0, 0, 12).code(), Code::io);
  EXPECT_FALSE(rig.await(1, 0, 10).ok());
  rig.want(1, 1, 13, {{50, 200}});
  ASSERT_TRUE(rig.await(1, 1, 13).ok());
  EXPECT_EQ(rig.window(1, 1, 13), rig.written({{50, 200}}));
  rig.end();
}

TEST(Reads, TheSizeCountsWhatIsPendingAnywhereBehind) {
  for (const Topology topology : {Topology::ring, Topology::direct}) {
    Reading rig({topology, 1, MiB}, 3, 1);
    EXPECT_EQ(rig.size(2), 0u);
    rig.write(2, 5'000'000, std::vector<std::byte>(100, std::byte{1}));
    rig.write(2, 0, std::vector<std::byte>(100, std::byte{2}));
    EXPECT_EQ(rig.size(2), 5'000'100u);
    rig.write(0, 6'000'000, std::vector<std::byte>(100, std::byte{3}));
    EXPECT_EQ(rig.size(1), 6'000'100u);
    EXPECT_EQ(rig.size(0), 6'000'100u);
    EXPECT_EQ(rig.node[0]->storage.submitted(io::Op::read), 0u);
    rig.end();
  }
}

TEST(Reads, AListGetsBytesAndTheSizeAtOnce) {
  Reading rig({Topology::ring, 1, MiB}, 3, 1);
  rig.fill(3 * MiB);
  for (std::uint32_t n = 0; n < 3; ++n) {
    rig.want(n, 0, 10, {{MiB, 2 * MiB}, transport::size_place});
    ASSERT_TRUE(rig.await(n, 0, 10).ok());
    ASSERT_EQ(rig.window(n, 0, 10).size(), MiB + sizeof(std::uint64_t));
    EXPECT_TRUE(
        std::ranges::equal(std::span(rig.window(n, 0, 10)).first(MiB), rig.written({{MiB, 2 * MiB}})));
  }
  rig.end();
}

TEST(Reads, AServerThatCannotReadSaysSoAndIsAskedAgain) {
  for (const Topology topology : {Topology::ring, Topology::direct}) {
    Reading rig({topology, 1, MiB}, 3, 1);
    rig.fill(2 * MiB);
    rig.node[0]->storage.set_faults({{io::Op::read, 1, 0, EIO}});
    rig.want(2, 0, 10, {{0, MiB}});
    EXPECT_EQ(rig.await(2, 0, 10).code(), Code::io);
    EXPECT_TRUE(rig.node[2]->core.error(rig.slot[2]).ok()) << "nothing that was written is lost";
    rig.want(2, 0, 11, {{0, MiB}});
    EXPECT_TRUE(rig.await(2, 0, 11).ok());
    EXPECT_EQ(rig.window(2, 0, 11), rig.written({{0, MiB}}));
    rig.end();
  }
}

TEST(Reads, AFileOfOneNodeHasNone) {
  Rig rig;
  const Fd file = rig.storage.create();
  const FileSlot slot = rig.open(0, file, roomy(Strategy::automatic));
  rig.core.want(0, slot, 1, std::vector<Extent>{{0, 1}});
  ASSERT_TRUE(rig.await(0, 1));
  EXPECT_EQ(rig.reply(0, 1).code(), Code::unsupported);
}

TEST(Reads, AListIsNotServedFromABlockThatIsOlderThanIt) {
  Reading rig(direct, 2);
  rig.fill(2 * MiB);
  rig.want(1, 0, 10, {{0, 1000}, {MiB / 2, MiB}});
  rig.step_all(3);
  rig.write(0, 0, std::vector<std::byte>(1000, std::byte{42}));
  rig.sync_all(2);
  ASSERT_TRUE(rig.await_all(2));
  rig.want(1, 1, 11, {{0, 1000}});
  ASSERT_TRUE(rig.await(1, 1, 11).ok());
  EXPECT_EQ(rig.window(1, 1, 11), rig.written({{0, 1000}}));
  ASSERT_TRUE(rig.await(1, 0, 10).ok());
  rig.end();
}

TEST(Reads, ANodeThatTakesNothingHoldsUpNobody) {
  Reading rig(direct, 3);
  rig.fill(8 * MiB);
  rig.want(1, 0, 10, {{0, 4 * MiB}});
  rig.step_all(2);
  rig.ways[0].open = false;  // between node 1 and node 0
  for (std::uint32_t i = 0; i < 8; ++i) {
    rig.want(2, 0, 20 + i, {{i * MiB, (i + 1) * MiB}});
    ASSERT_TRUE(rig.await(2, 0, 20 + i).ok());
  }
  EXPECT_FALSE(rig.node[1]->answered(0, 10));
  rig.ways[0].open = true;
  ASSERT_TRUE(rig.await(1, 0, 10).ok());
  EXPECT_EQ(rig.window(1, 0, 10), rig.written({{0, 4 * MiB}}));
  rig.end();
}

TEST(Reads, WhereTheServerIsLostAListGetsAnError) {
  Reading rig(direct, 2);
  rig.fill(4 * MiB);
  rig.want(1, 0, 10, {{0, 4 * MiB}});
  rig.step_all(2);
  rig.ways[0].wire->status = Code::lost_peer;
  EXPECT_EQ(rig.await(1, 0, 10).code(), Code::lost_peer);
  rig.want(1, 0, 11, {{0, 10}});
  EXPECT_EQ(rig.await(1, 0, 11).code(), Code::lost_peer);
}

TEST(Reads, SendersThatGoLeaveNothingBehind) {
  for (int steps = 0; steps < 12; ++steps) {
    Reading rig(direct, 2);
    rig.fill(6 * MiB);
    rig.want(0, 0, 10, {{0, 2 * MiB}, {3 * MiB, 5 * MiB}});
    rig.want(1, 0, 10, {{0, 2 * MiB}, {3 * MiB, 5 * MiB}});
    rig.step_all(steps);
    for (const auto& one : rig.node) {
      for (SenderId rank = 0; rank < 2; ++rank) one->core.abandon(rank);
    }
    for (int i = 0; i < 5000; ++i) rig.step(ms);
    for (const auto& one : rig.node) {
      EXPECT_TRUE(one->core.idle()) << steps;
      EXPECT_EQ(one->storage.misuse(), io::Misuse{});
    }
  }
}

// Such a list used to begin after its sender had gone, and to wait for that sender's room for ever.
TEST(Reads, AListWhoseSenderGoesBeforeItBeginsIsDropped) {
  for (std::uint32_t n = 0; n < 2; ++n) {
    Reading rig(direct, 2);
    rig.fill(MiB);
    rig.write(n * 2 + 1, 0, std::vector<std::byte>(1000, std::byte{42}));
    rig.want(n, 0, 10, {{0, 1000}});  // waits until the bytes have departed
    rig.node[n]->core.abandon(0);
    rig.gone.insert({n, 0});
    rig.want(n, 1, 11, {{0, 2000}});
    ASSERT_TRUE(rig.await(n, 1, 11).ok());
    EXPECT_EQ(rig.window(n, 1, 11), rig.written({{0, 2000}}));
    for (const auto& one : rig.node) {
      for (SenderId rank = 0; rank < 2; ++rank) one->core.abandon(rank);
    }
    for (int i = 0; i < 5000; ++i) rig.step(ms);
    for (const auto& one : rig.node) EXPECT_TRUE(one->core.idle());
  }
}

}  // namespace
}  // namespace millrace::agent
