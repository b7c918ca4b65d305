// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/read_order.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "client/way/testing/fake_window.hpp"

namespace millrace::client {
namespace {

using testing::blocks;
using testing::Rank;
using testing::seeds;

// A transfer of the first `bytes` of a new view.
void read_new_view(Rank& rank, const FileView& view, std::uint64_t bytes) {
  rank.view = view;
  rank.read(0, bytes);
}

// Variables of 64 KiB, one behind the other. The rank has 256 bytes of each of the 16 rows of a variable.
TEST(ReadOrder, AViewForEachVariableIsReadAhead) {
  Rank rank(16 * MiB);
  for (std::uint64_t v = 0; v < 256; ++v) read_new_view(rank, blocks(v * 64 * KiB + 512, 256, 4096), 4096);
  const ReadCounters counters = rank.ahead.counters();
  EXPECT_LE(rank.left, 3);
  EXPECT_GE(counters.guessed_bytes, counters.bytes * 95 / 100);
  EXPECT_LE(counters.wrong_bytes, 64 * KiB);
}

TEST(ReadOrder, RecordsOfVariablesAreReadAheadWhereALoopOfVariablesRepeats) {
  Rank rank(16 * MiB);
  for (std::uint64_t record = 0; record < 16; ++record)
    for (std::uint64_t v = 0; v < 10; ++v)
      read_new_view(rank, blocks(record * MiB + v * 64 * KiB, 256, 4096), 4096);
  EXPECT_GE(rank.ahead.counters().guessed_bytes, rank.ahead.counters().bytes * 70 / 100);
}

TEST(ReadOrder, AViewThatStaysIsReadAheadByItsOwnOrder) {
  Rank rank(16 * MiB);
  for (std::uint64_t v = 0; v < 8; ++v) read_new_view(rank, blocks(v * 64 * KiB, 256, 4096), 4096);
  rank.view = blocks(MiB, 1024, 4096);
  for (std::uint64_t at = 0; at < 2 * MiB; at += 8192) rank.read(at, 8192);
  // The guesses behind the first views are wrong. So the rank guesses again after it has read some more.
  const ReadCounters counters = rank.ahead.counters();
  EXPECT_LE(rank.left, 100);
  EXPECT_GE(counters.guessed_bytes, counters.bytes * 90 / 100);
}

TEST(ReadOrder, TransfersOfOtherShapesEndTheOrder) {
  ReadOrder order;
  for (std::uint64_t v = 0; v < 6; ++v)
    order.add(blocks(v * 64 * KiB, 256, 4096), 0, 1024, v * 64 * KiB + 12544);
  EXPECT_TRUE(order.foresees());
  Extent extent;
  ASSERT_TRUE(order.next(16 * MiB, extent));
  EXPECT_EQ(extent, (Extent{6 * 64 * KiB, 6 * 64 * KiB + 256}));
  EXPECT_TRUE(order.add(blocks(6 * 64 * KiB, 512, 4096), 0, 1024, 6 * 64 * KiB + 4608));
  EXPECT_FALSE(order.foresees());
  EXPECT_FALSE(order.next(16 * MiB, extent));
}

TEST(ReadOrder, NothingIsToldBehindTheEndOfTheFile) {
  ReadOrder order;
  for (std::uint64_t v = 0; v < 6; ++v)
    order.add(blocks(v * 64 * KiB, 256, 4096), 0, 512, v * 64 * KiB + 4352);
  Extent extent;
  std::uint64_t told = 0;
  while (order.next(8 * 64 * KiB, extent)) told += extent.size();
  EXPECT_EQ(told, 2u * 512);
  EXPECT_FALSE(order.next(8 * 64 * KiB, extent));
}

// Views that change in every way: the bytes are right, and wrong guesses are few.
TEST(ReadOrder, RandomViewsAreRightAndCostLittle) {
  for (unsigned seed = 1; seed <= seeds(20); ++seed) {
    Rank rank(16 * MiB);
    std::mt19937_64 random(seed);
    std::uint64_t all_bytes = 0;
    for (int phase = 0; phase < 20; ++phase) {
      const std::uint64_t block = 1 + random() % 2000, stride = block + random() % 5000;
      const std::uint64_t step = random() % 100'000, transfers = 1 + random() % 3 % 2;
      std::uint64_t at = random() % (8 * MiB), bytes = 1 + random() % 20'000;
      for (std::uint64_t i = random() % 40; i > 0 && at < 12 * MiB; --i, at += step) {
        rank.view = blocks(at, block, stride);
        for (std::uint64_t n = 0; n < transfers; ++n) {
          if (rank.view.hull_of(n * bytes, bytes).end >= 16 * MiB) continue;
          rank.read(n * bytes, bytes);
          all_bytes += bytes;
        }
        if (random() % 50 == 0) rank.ahead.drop();
        if (random() % 20 == 0) bytes = 1 + random() % 20'000;
      }
    }
    const ReadCounters counters = rank.ahead.counters();
    EXPECT_LE(counters.wrong_bytes, all_bytes / 4 + 128 * KiB) << "seed " << seed;
    rank.ahead.drop();
    EXPECT_TRUE(rank.window.all_parts_are_free());
  }
}

}  // namespace
}  // namespace millrace::client
