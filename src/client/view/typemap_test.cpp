// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/view/typemap.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "client/view/testing/typemap_model.hpp"
#include "client/view/view.hpp"

namespace millrace::client {
namespace {

// Walks `elements` elements with a cursor, and returns the displacements of all bytes.
std::vector<std::int64_t> expand(const TypeMap& map, std::uint64_t elements = 1) {
  std::vector<std::int64_t> bytes;
  if (map.size == 0) return bytes;
  Cursor cursor(map, 0, 0);
  for (std::uint64_t left = map.size * elements; left > 0;) {
    const std::uint64_t n = std::min(left, cursor.rest());
    for (std::uint64_t i = 0; i < n; ++i) bytes.push_back(cursor.offset() + static_cast<std::int64_t>(i));
    left -= n;
    if (left > 0) cursor.advance(n);
  }
  return bytes;
}

void expect_matches(const model::Pair& pair, std::uint64_t seed) {
  const model::Naive& naive = pair.naive;
  ASSERT_TRUE(pair.map.valid()) << "seed " << seed;
  ASSERT_EQ(pair.map.size, naive.bytes.size()) << "seed " << seed;
  ASSERT_EQ(pair.map.lower, naive.lower) << "seed " << seed;
  ASSERT_EQ(pair.map.extent, naive.extent()) << "seed " << seed;
  std::vector<std::int64_t> twice = naive.bytes;
  for (const std::int64_t byte : naive.bytes) twice.push_back(byte + naive.extent());
  ASSERT_EQ(expand(pair.map, 2), twice) << "seed " << seed;
  if (naive.bytes.empty()) return;
  const auto [low, high] = std::minmax_element(naive.bytes.begin(), naive.bytes.end());
  ASSERT_EQ(pair.map.true_lower, *low) << "seed " << seed;
  ASSERT_EQ(pair.map.true_upper, *high + 1) << "seed " << seed;
  std::uint64_t pieces = 1;
  bool monotone = true;
  for (std::size_t i = 1; i < naive.bytes.size(); ++i) {
    pieces += naive.bytes[i] != naive.bytes[i - 1] + 1;
    monotone = monotone && naive.bytes[i] > naive.bytes[i - 1];
  }
  ASSERT_GE(pair.map.pieces, pieces) << "seed " << seed;
  ASSERT_TRUE(monotone || !pair.map.monotone) << "seed " << seed;
  ASSERT_EQ(pair.map.contiguous, pieces == 1 && naive.bytes[0] == 0 &&
                                     naive.extent() == static_cast<std::int64_t>(naive.bytes.size()))
      << "seed " << seed;
}

TEST(TypeMap, RandomNestedTypesExpandAsTheStandardSays) {
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    model::Generator generator(seed);
    expect_matches(generator.make(static_cast<int>(seed % 6), seed % 2 == 0), seed);
    if (HasFatalFailure()) return;
  }
}

TEST(TypeMap, PiecesWithoutAPatternExpandAsTheStandardSays) {
  std::uint64_t with_lists = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    model::Generator generator(seed, true);
    const model::Pair pair = generator.make(static_cast<int>(1 + seed % 5), seed % 2 == 0);
    with_lists += pair.map.places.empty() ? 0 : 1;
    expect_matches(pair, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(with_lists, 500u);
}

TEST(TypeMap, APieceWithoutAPatternTakesSixteenBytes) {
  std::vector<TypeBlock> blocks;
  std::uint32_t state = 1;
  std::int64_t next = 0;
  for (int i = 0; i < 100'000; ++i) {
    state = state * 1664525u + 1013904223u;
    blocks.push_back({next + (state >> 28), 1 + (state >> 26 & 3)});
    next += 32;
  }
  const TypeMap map = resized(hindexed(contiguous_type(4), blocks), 0, next);
  const std::size_t bytes =
      map.runs.capacity() * sizeof(client::Run) + map.places.capacity() * sizeof(ListedPiece);
  EXPECT_LE(bytes, 100'000u * 16 + 10'000u);
  const TypeMap again = vector(map, 1000, 2, 3);
  EXPECT_LE(again.places.size(), 100'000u);
  EXPECT_EQ(again.pieces, 2000u * 100'000u);
}

TEST(TypeMap, FiletypesAreKnownToBeMonotone) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    model::Generator generator(seed);
    const model::Pair pair = generator.make(static_cast<int>(seed % 5), true);
    const std::vector<std::int64_t>& bytes = pair.naive.bytes;
    bool ascending = true;
    for (std::size_t i = 1; i < bytes.size(); ++i) ascending = ascending && bytes[i] > bytes[i - 1];
    EXPECT_EQ(pair.map.monotone, ascending) << "seed " << seed;
  }
}

TEST(TypeMap, BrickOfALargeArrayIsTwoRuns) {
  const SubarrayDimension dimensions[] = {{1024, 512, 256}, {1024, 512, 256}, {1024, 512, 256}};
  const TypeMap map = subarray(contiguous_type(8), dimensions, Order::c);
  EXPECT_EQ(map.runs.size(), 2u);
  EXPECT_EQ(map.pieces, 512u * 512u);
  EXPECT_EQ(map.size, 8ull * 512 * 512 * 512);
  EXPECT_EQ(map.extent, 8ll * 1024 * 1024 * 1024);
  EXPECT_TRUE(map.monotone);
}

TEST(TypeMap, FullInnerDimensionsAreJoined) {
  const SubarrayDimension dimensions[] = {{64, 16, 8}, {32, 32, 0}, {16, 16, 0}};
  const TypeMap map = subarray(contiguous_type(4), dimensions, Order::c);
  ASSERT_EQ(map.runs.size(), 1u);
  EXPECT_EQ(map.runs[0], (client::Run{8 * 32 * 16 * 4, 16 * 32 * 16 * 4, 1, 0, 0, 0, 0}));
}

TEST(TypeMap, VectorOfAMillionStructsIsBounded) {
  const TypeMap four = contiguous_type(4);
  const TypeMap eight = contiguous_type(8);
  const StructMember members[] = {{0, 1, &four}, {8, 1, &eight}, {20, 1, &four}};
  const TypeMap record = resized(structure(members), 0, 32);
  const TypeMap map = vector(record, 1'000'000, 1, 2);
  EXPECT_LE(map.runs.size(), 4u);
  EXPECT_EQ(map.pieces, 3'000'000u);
  EXPECT_EQ(map.size, 16'000'000u);
}

TEST(TypeMap, RegularIndexedBlocksBecomeOneRun) {
  std::vector<TypeBlock> blocks;
  for (std::int64_t i = 0; i < 1000; ++i) blocks.push_back({i * 3, 2});
  const TypeMap map = indexed(contiguous_type(8), blocks);
  ASSERT_EQ(map.runs.size(), 1u);
  EXPECT_EQ(map.runs[0], (client::Run{0, 16, 1000, 24, 0, 0, 0}));
}

TEST(TypeMap, TypesAboveTwoGiBKeepTheirNumbers) {
  const TypeMap huge = contiguous(contiguous_type(8), 1ull << 33);
  EXPECT_EQ(huge.size, 1ull << 36);
  EXPECT_TRUE(huge.contiguous);
  const TypeMap far = hvector(huge, 4, 1, 1ll << 40);
  EXPECT_EQ(far.extent, 3 * (1ll << 40) + (1ll << 36));
  EXPECT_EQ(Cursor(far, 0, (1ull << 37) + 5).offset(), (2ll << 40) + 5);
}

TEST(TypeMap, OverflowIsNotAValidMap) {
  const TypeMap huge = contiguous(contiguous_type(1), 1ull << 62);
  EXPECT_TRUE(huge.valid());
  EXPECT_FALSE(contiguous(huge, 4).valid());
  EXPECT_FALSE(hvector(contiguous_type(8), 1ull << 40, 1, 1ll << 40).valid());
  for (const std::int64_t extent : {1ll << 40, -(1ll << 40)}) {
    const TypeMap far = resized(contiguous_type(8), 0, extent);
    const TypeBlock blocks[] = {{1ll << 30, 1}, {0, 1}};
    EXPECT_FALSE(indexed(far, blocks).valid()) << extent;
  }
}

TEST(TypeMap, NestsDeeperThanTheBoundAreNotValid) {
  TypeMap map = contiguous_type(1);
  for (std::uint32_t level = 1; level <= TypeMap::max_depth; ++level) {
    map = hvector(map, 2, 1, 3 * map.extent);  // the hole keeps a level from being joined with the next
    EXPECT_TRUE(map.valid());
    EXPECT_EQ(map.depth, level);
  }
  EXPECT_FALSE(hvector(map, 2, 1, 3 * map.extent).valid());
}

TEST(TypeMap, UnevenNestsWhoseExtentOverflowsAreNotValidAndSmall) {
  TypeMap map = contiguous_type(1);
  for (int level = 0; level < 30 && map.valid(); ++level) {
    const TypeBlock blocks[] = {{0, 1}, {2, 1}, {5, 1}};
    map = indexed(map, blocks);
    EXPECT_LT(map.runs.size(), 1000u);
  }
  EXPECT_FALSE(map.valid());
}

TEST(TypeMap, EmptyTypesKeepTheirBounds) {
  const TypeMap empty = contiguous(contiguous_type(8), 0);
  EXPECT_EQ(empty.size, 0u);
  EXPECT_EQ(empty.extent, 0);
  EXPECT_TRUE(empty.runs.empty());
  const TypeMap hole = contiguous(resized(empty, -4, 12), 3);
  EXPECT_EQ(hole.size, 0u);
  EXPECT_EQ(hole.lower, -4);
  EXPECT_EQ(hole.extent, 36);
}

}  // namespace
}  // namespace millrace::client
