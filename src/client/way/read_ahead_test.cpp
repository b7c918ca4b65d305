// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/read_ahead.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "client/way/testing/fake_window.hpp"

namespace millrace::client {
namespace {

using testing::blocks;
using testing::bytes_map;
using testing::Rank;
using testing::seeds;

TEST(ReadAhead, AStrideIsReadAheadAndRight) {
  Rank rank(8 * MiB);
  for (std::uint64_t at = 0; at + 4096 <= 8 * MiB; at += 16384) rank.read(at, 4096);
  const ReadCounters counters = rank.ahead.counters();
  EXPECT_LE(rank.left, 2);
  EXPECT_GE(counters.bytes, 2 * MiB - 2 * 4096);
  EXPECT_GE(counters.guessed_bytes, counters.bytes * 98 / 100);
  EXPECT_EQ(counters.wrong_bytes, 0u);
  EXPECT_LE(counters.lists, 100u);
}

TEST(ReadAhead, SmallReadsInARandomOrderAreLeftToTheCaller) {
  Rank rank(4 * MiB);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) rank.read(random() % 1000 * 4096, 4096);
  EXPECT_GE(rank.left, 995);
  for (std::uint64_t i = 0; i < 200; ++i) rank.read(i * 8192, 4096);  // until an order shows
  EXPECT_LE(rank.left, 1010);
}

TEST(ReadAhead, WhereTheCallerCannotReadTheFileSmallReadsAreNotLeftToIt) {
  Rank rank(4 * MiB, false);
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) rank.read(random() % 1000 * 4096, 4096);
  EXPECT_EQ(rank.left, 0);
  EXPECT_LE(rank.ahead.counters().wrong_bytes, 256 * KiB);
}

TEST(ReadAhead, RandomTransfersAreRightAndCostLittle) {
  for (unsigned seed = 1; seed <= seeds(10); ++seed) {
    Rank rank(4 * MiB);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t bytes = 1 + random() % (seed % 2 == 0 ? 100 : 100'000);
      rank.read(random() % (4 * MiB - bytes), bytes);
    }
    const ReadCounters counters = rank.ahead.counters();
    EXPECT_LE(counters.wrong_bytes, counters.bytes / 8 + 192 * KiB);
  }
}

// A program that reads in one order for a while, then in another one.
TEST(ReadAhead, PatternsThatChangeAreRightAndWrongGuessesAreFew) {
  for (unsigned seed = 1; seed <= seeds(20); ++seed) {
    Rank rank(16 * MiB);
    std::mt19937_64 random(seed);
    rank.window.usable_parts = 1 + static_cast<std::uint32_t>(random() % ReadWindow::parts);
    for (int phase = 0; phase < 12; ++phase) {
      const std::uint64_t bytes = std::uint64_t{1} << random() % 18;
      const std::uint64_t step = random() % 3 == 0 ? bytes : bytes + random() % 50'000;
      std::uint64_t at = random() % (8 * MiB);
      const std::uint64_t count = random() % 60;
      for (std::uint64_t i = 0; i < count && at + bytes <= 16 * MiB; ++i, at += step) {
        rank.read(at, bytes);
        if (random() % 50 == 0) rank.ahead.drop();
      }
    }
    EXPECT_LE(rank.ahead.counters().wrong_bytes, rank.most_wrong_bytes()) << "seed " << seed;
    rank.ahead.drop();
    EXPECT_TRUE(rank.window.all_parts_are_free());
  }
}

TEST(ReadAhead, AViewIsReadAheadFromTheFirstCallOn) {
  Rank rank(8 * MiB);
  rank.view = blocks(256, 256, 4096);
  for (std::uint64_t at = 0; at < 256 * 2047; at += 256) rank.read(at, 256);
  const ReadCounters counters = rank.ahead.counters();
  EXPECT_GE(counters.guessed_bytes, counters.bytes - 256);
  EXPECT_EQ(counters.wrong_bytes, 0u);
}

TEST(ReadAhead, LargeTransfersUseAllPartsOfTheWindow) {
  Rank rank(64 * MiB);
  rank.read(0, 20 * MiB);
  rank.read(20 * MiB, 20 * MiB);
  rank.view = blocks(0, 1000, 3000);
  rank.read(5, 15'000'000);
  EXPECT_LE(rank.window.asked_bytes, 40 * MiB + 15'000'000 + 3 * MiB);
}

TEST(ReadAhead, AnotherViewForgetsWhatWasExpected) {
  Rank rank(8 * MiB);
  rank.view = blocks(0, 256, 4096);
  for (std::uint64_t i = 0; i < 100; ++i) rank.read(i * 256, 256);
  rank.view = blocks(512, 128, 1024);
  for (std::uint64_t i = 0; i < 100; ++i) rank.read(i * 128, 128);
  rank.view = FileView(0, 1, bytes_map());
  for (std::uint64_t i = 0; i < 100; ++i) rank.read(i * 128, 128);
}

TEST(ReadAhead, BytesThatChangeAreReadAgainAfterADrop) {
  Rank rank(MiB);
  for (std::uint64_t at = 0; at < 100 * KiB; at += 1024) rank.read(at, 1024);
  std::ranges::fill(rank.window.file, std::byte{7});
  rank.ahead.drop();
  rank.read(100 * KiB, 50 * KiB);
}

TEST(ReadAhead, ReadsBehindTheEndAreLeftToTheCaller) {
  Rank rank(10'000);
  for (std::uint64_t at = 0; at + 1000 <= 10'000; at += 1000) rank.read(at, 1000);
  std::vector<std::byte> memory(1000);
  EXPECT_EQ(rank.read_into(9'500, memory).code(), Code::unsupported);
  rank.read(0, 1000);  // others still work
}

TEST(ReadAhead, AfterAnErrorAllCallsFail) {
  Rank rank(MiB);
  rank.read(0, 100'000);
  rank.window.fails_from = 2;
  std::vector<std::byte> memory(100'000);
  EXPECT_EQ(rank.read_into(500'000, memory).code(), Code::lost_peer);
  EXPECT_EQ(rank.read_into(0, memory).code(), Code::lost_peer);
  rank.ahead.drop();
  EXPECT_TRUE(rank.window.all_parts_are_free());
}

TEST(ReadAhead, PartsOfListsThatAreTooSlowAreNotUsedAgain) {
  Rank rank(8 * MiB);
  rank.window.slow_from = 1;
  std::vector<std::byte> memory(5 * MiB);
  EXPECT_EQ(rank.read_into(0, memory).code(), Code::timeout);
  EXPECT_FALSE(rank.window.has_free_part());  // the agent may still write to them
  rank.window.slow_from = 0;
  EXPECT_TRUE(rank.window.all_parts_are_free());  // it has answered
}

TEST(ReadAhead, WithoutAFreePartTheCallerReads) {
  Rank rank(MiB);
  rank.window.usable_parts = 0;
  std::vector<std::byte> memory(100'000);
  EXPECT_EQ(rank.read_into(0, memory).code(), Code::no_memory);
  rank.window.usable_parts = 8;
  rank.read(0, 1000);
}

}  // namespace
}  // namespace millrace::client
