// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/way/sequence.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <utility>

namespace millrace::client {
namespace {

using Transfers = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// How many of the transfers were foreseen right after the one before.
std::size_t foreseen(const Transfers& transfers, bool follows = false) {
  Sequence sequence(follows);
  std::size_t right = 0;
  for (const auto& [position, bytes] : transfers) {
    if (auto ahead = sequence.foresee()) {
      const auto next = ahead->next();
      right += next && next->position == position && next->bytes == bytes ? 1 : 0;
    }
    sequence.add(position, bytes);
  }
  return right;
}

// All further transfers of the sequence after `known` of them.
void expect_rest(const Transfers& transfers, std::size_t known) {
  Sequence sequence;
  for (std::size_t i = 0; i < known; ++i) sequence.add(transfers[i].first, transfers[i].second);
  auto ahead = sequence.foresee();
  ASSERT_TRUE(ahead);
  for (std::size_t i = known; i < transfers.size(); ++i) {
    const auto next = ahead->next();
    ASSERT_TRUE(next);
    ASSERT_EQ(next->position, transfers[i].first) << i;
    ASSERT_EQ(next->bytes, transfers[i].second) << i;
  }
}

// Loops from the innermost to the outermost: a stride and a count each.
Transfers nest(const std::vector<std::pair<std::uint64_t, std::size_t>>& loops, std::uint64_t bytes) {
  Transfers all{{0, bytes}};
  for (const auto& [stride, count] : loops) {
    const Transfers inner = all;
    all.clear();
    for (std::size_t i = 0; i < count; ++i) {
      for (const auto& [position, size] : inner) all.emplace_back(position + i * stride, size);
    }
  }
  return all;
}

TEST(Sequence, NothingIsForeseenAtFirst) {
  EXPECT_FALSE(Sequence().foresee());
  Sequence one;
  one.add(100, 10);
  EXPECT_FALSE(one.foresee());
}

TEST(Sequence, AViewWithHolesIsReadInItsOrder) {
  Sequence one(true);
  one.add(100, 10);
  auto ahead = one.foresee();
  ASSERT_TRUE(ahead);
  EXPECT_EQ(ahead->next()->position, 110u);
}

TEST(Sequence, AConstantStrideGoesOn) { expect_rest(nest({{4096, 100}}, 256), 3); }

TEST(Sequence, ContiguousTransfersGoOn) { expect_rest(nest({{4096, 100}}, 4096), 3); }

TEST(Sequence, BlocksAtAStrideGoOn) {
  // Four transfers of 4 KiB, then a jump: known from the second block on.
  expect_rest(nest({{4096, 4}, {262144, 50}}, 4096), 6);
  expect_rest(nest({{4096, 4}, {262144, 50}}, 4096), 4 * 20 + 3);
}

TEST(Sequence, ThreeLoopsGoOn) { expect_rest(nest({{40, 5}, {1000, 7}, {100000, 9}}, 40), 5 * 7 * 2 + 3); }

// The read-back of BT-IO: rows in planes in cells, in outputs. The cells lie at irregular distances.
TEST(Sequence, AnOuterLoopIsForeseenAfterItsFirstPass) {
  const std::uint64_t n = 24;
  const std::uint64_t cells[4][3] = {{6, 6, 0}, {12, 0, 6}, {18, 18, 12}, {0, 12, 18}};
  Transfers transfers;
  for (std::uint64_t output = 0; output < 40; ++output) {
    for (const auto& [x, y, z] : cells) {
      for (std::uint64_t plane = 0; plane < 6; ++plane) {
        for (std::uint64_t row = 0; row < 6; ++row)
          transfers.emplace_back(40 * (x + n * (y + row + n * (z + plane + n * output))), 240);
      }
    }
  }
  Sequence sequence;
  std::size_t wrong = 0;
  std::size_t wrong_later = 0;  // after the first output, and the first row of the next ones
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const bool right = sequence.expects(transfers[i].first);
    wrong += right ? 0 : 1;
    wrong_later += !right && i > 4 * 36 + 36 ? 1 : 0;
    sequence.add(transfers[i].first, transfers[i].second);
  }
  EXPECT_LE(wrong, 20u);
  EXPECT_LE(wrong_later, 1u) << "the first step between outputs";
}

// Columns of datasets: each has as many rows, and lies anywhere.
TEST(Sequence, ARunIsExpectedToBeAsLongAsTheLastOneOfItsStep) {
  Sequence sequence;
  std::mt19937_64 random(1);
  const auto read = [&](std::uint64_t begin, std::uint64_t rows) {
    for (std::uint64_t row = 0; row < rows; ++row) sequence.add(begin + row * 4096, 256);
  };
  read(1 << 20, 100);
  read((2 << 20) + 7 * 256, 100);
  for (std::uint64_t dataset = 3; dataset < 20; ++dataset) {
    const std::uint64_t begin = (dataset << 20) + random() % 1000 * 256;
    read(begin, 2);
    auto ahead = sequence.foresee();
    ASSERT_TRUE(ahead) << dataset;
    for (std::uint64_t row = 2; row < 100; ++row) EXPECT_EQ(ahead->next()->position, begin + row * 4096);
    EXPECT_FALSE(ahead->next()) << "the next dataset may lie anywhere";
    EXPECT_EQ(sequence.repeated_bytes(), 99 * 256u);
    for (std::uint64_t row = 2; row < 100; ++row) sequence.add(begin + row * 4096, 256);
    EXPECT_FALSE(sequence.foresees());
  }
  // A longer one goes on.
  read(std::uint64_t{1} << 30, 150);
  auto ahead = sequence.foresee();
  ASSERT_TRUE(ahead);
  for (std::uint64_t row = 150; row < 1000; ++row)
    EXPECT_EQ(ahead->next()->position, (std::uint64_t{1} << 30) + row * 4096);
}

TEST(Sequence, BackwardsGoesOnUntilTheBegin) {
  Sequence sequence;
  for (std::uint64_t i = 10; i > 4; --i) sequence.add(i * 1000, 100);
  auto ahead = sequence.foresee();
  ASSERT_TRUE(ahead);
  for (std::uint64_t i = 4; i > 0; --i) EXPECT_EQ(ahead->next()->position, i * 1000);
  EXPECT_EQ(ahead->next()->position, 0u);
  EXPECT_FALSE(ahead->next());
}

TEST(Sequence, ARandomOrderIsHardlyEverForeseen) {
  std::mt19937_64 random(1);
  Transfers transfers;
  for (int i = 0; i < 2000; ++i) transfers.emplace_back(random() % 4096 * 4096, 4096);
  EXPECT_LE(foreseen(transfers), 4u);
}

TEST(Sequence, AStepThatComesOftenIsForeseenAfterAnything) {
  Transfers transfers;
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) transfers.emplace_back(random() % 100000, 1 + random() % 1000);
  for (int i = 0; i < 100; ++i) transfers.emplace_back(1000000 + i * 5000, 100);
  EXPECT_GE(foreseen(transfers), 90u);
}

TEST(Sequence, LongSequencesKeepBeingForeseen) {
  const Transfers transfers = nest({{40, 3}, {1000, 2}, {100000, 3000}}, 40);
  EXPECT_GE(foreseen(transfers), transfers.size() - 20);
}

}  // namespace
}  // namespace millrace::client
