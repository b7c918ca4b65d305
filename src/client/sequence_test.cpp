// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/sequence.hpp"

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
