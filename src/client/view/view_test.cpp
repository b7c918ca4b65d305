// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/view/view.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "client/view/testing/typemap_model.hpp"

namespace millrace::client {
namespace {

std::shared_ptr<const TypeMap> share(TypeMap map) { return std::make_shared<const TypeMap>(std::move(map)); }

template <class Take>
Status for_each_piece(const FileView& view, std::uint64_t position, const TypeMap& memory, const void* buffer,
                      std::uint64_t count, Take&& take) {
  if (memory.size == 0 || count == 0) return {};
  PieceSource source(view, position, memory, buffer, count);
  return for_each_batch(source, take);
}

// Offset of byte `position` of a view's stream, from the naive expansion.
std::uint64_t naive_offset(const model::Naive& type, std::uint64_t displacement, std::uint64_t position) {
  const std::uint64_t size = type.bytes.size();
  const auto element = static_cast<std::int64_t>(position / size);
  return displacement + static_cast<std::uint64_t>(element * type.extent() + type.bytes[position % size]);
}

TEST(FileView, RandomAccessAgreesWithTheExpansion) {
  int usable = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    model::Generator generator(seed, seed % 8 == 0);
    const model::Pair type = generator.make(static_cast<int>(seed % 6), true);
    const auto displacement = static_cast<std::uint64_t>(generator.range(0, 100));
    const FileView view(displacement, 1, share(type.map));
    if (!view.usable()) continue;
    ++usable;
    for (int i = 0; i < 40; ++i) {
      const auto position =
          static_cast<std::uint64_t>(generator.range(0, 3 * static_cast<std::int64_t>(type.map.size)));
      ASSERT_EQ(view.offset_of(position), naive_offset(type.naive, displacement, position))
          << "seed " << seed;
    }
    std::uint64_t position = 0;
    for (std::uint64_t offset = 0; offset < (seed % 8 == 0 ? 2000 : 300); ++offset) {
      while (naive_offset(type.naive, displacement, position) < offset) ++position;
      ASSERT_EQ(view.position_of(offset), position) << "seed " << seed << " offset " << offset;
    }
  }
  EXPECT_GT(usable, 2500);
}

TEST(FileView, PiecesPairMemoryAndFileByteByByte) {
  int transfers = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    model::Generator generator(seed, seed % 8 == 0);
    const model::Pair file = generator.make(static_cast<int>(generator.range(0, 5)), true);
    const model::Pair memory = generator.make(static_cast<int>(generator.range(0, 5)), false);
    const FileView view(static_cast<std::uint64_t>(generator.range(0, 50)), 1, share(file.map));
    if (!view.usable()) continue;
    const auto count = static_cast<std::uint64_t>(generator.range(0, 5));
    const auto position = static_cast<std::uint64_t>(generator.range(0, 500));
    const std::uintptr_t base = 1 << 20;
    std::uint64_t done = 0;
    std::uint64_t pieces = 0;
    Extent touched;
    const Status status = for_each_piece(
        view, position, memory.map, reinterpret_cast<const void*>(base), count,
        [&](std::span<const Piece> batch) {
          for (const Piece& piece : batch) {
            ++pieces;
            touched = hull(touched, {piece.offset, piece.offset + piece.size});
            for (std::uint64_t i = 0; i < piece.size; ++i, ++done) {
              const std::uint64_t size = memory.naive.bytes.size();
              const std::int64_t at = static_cast<std::int64_t>(done / size) * memory.naive.extent() +
                                      memory.naive.bytes[done % size];
              EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data) + i,
                        base + static_cast<std::uintptr_t>(at));
              EXPECT_EQ(piece.offset + i, naive_offset(file.naive, view.displacement(), position + done));
            }
          }
          return HasFailure() ? Status(Code::invalid) : Status();
        });
    ASSERT_TRUE(status.ok()) << "seed " << seed;
    ASSERT_EQ(done, memory.map.size * count) << "seed " << seed;
    ASSERT_EQ(touched, view.hull_of(position, done)) << "seed " << seed;
    const std::uint64_t estimate = view.estimate_pieces(position, memory.map, count);
    ASSERT_EQ(estimate == 0, pieces == 0) << "seed " << seed;
    transfers += done > 0;
  }
  EXPECT_GT(transfers, 3000);
}

TEST(FileView, DefaultViewIsTheBytesOfTheFile) {
  const FileView view;
  EXPECT_TRUE(view.usable());
  EXPECT_EQ(view.offset_of(1ull << 40), 1ull << 40);
  EXPECT_EQ(view.position_of(12345), 12345u);
  const std::vector<char> data(100);
  std::vector<Piece> all;
  const Status status =
      for_each_piece(view, 7, contiguous_type(10), data.data(), 10, [&](std::span<const Piece> b) {
        all.insert(all.end(), b.begin(), b.end());
        return Status();
      });
  ASSERT_TRUE(status.ok());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].offset, 7u);
  EXPECT_EQ(all[0].size, 100u);
}

TEST(FileView, TypesThatBreakTheRulesAreNotUsable) {
  const TypeMap eight = contiguous_type(8);
  EXPECT_FALSE(FileView(0, 8, share(hvector(eight, 3, 1, -16))).usable());  // descending
  EXPECT_FALSE(FileView(0, 8, share(hvector(eight, 3, 1, 4))).usable());    // overlapping
  EXPECT_FALSE(FileView(0, 8, share(contiguous(eight, 0))).usable());       // empty
  const TypeBlock negative[] = {{-8, 1}};
  EXPECT_FALSE(FileView(100, 8, share(hindexed(eight, negative))).usable());
  EXPECT_TRUE(FileView(0, 8, share(vector(eight, 3, 1, 2))).usable());
}

TEST(FileView, ElementsMayInterleave) {
  // |0-7 16-23 32-39| and the next element 8 bytes on: |8-15 24-31 40-47|.
  const FileView view(100, 8, share(resized(vector(contiguous_type(8), 3, 1, 2), 0, 8)));
  ASSERT_TRUE(view.usable());
  EXPECT_EQ(view.offset_of(8), 116u);
  EXPECT_EQ(view.offset_of(24), 108u);
  EXPECT_EQ(view.hull_of(0, 24), (Extent{100, 140}));
  EXPECT_EQ(view.hull_of(8, 8), (Extent{116, 124}));
  EXPECT_EQ(view.hull_of(16, 16), (Extent{100, 148}));
  EXPECT_EQ(view.position_of(100), 0u);
  EXPECT_EQ(view.position_of(110), 10u);
  // Two elements fill their hull, but not in order.
  EXPECT_EQ(view.hull_of(0, 48), (Extent{100, 148}));
  EXPECT_FALSE(view.one_piece(48, view.hull_of(0, 48)));
  const TypeMap wide = hvector(contiguous_type(1), 2, 1, 1 << 30);
  EXPECT_FALSE(
      FileView(0, 1, share(resized(wide, 0, 1))).usable());  // a thousand million overlapping elements
}

TEST(FileView, APositionCountsTheDataBeforeAnOffset) {
  const FileView plain(100, 8, share(contiguous_type(8)));
  EXPECT_EQ(plain.position_of(50), 0u);
  EXPECT_EQ(plain.position_of(100), 0u);
  EXPECT_EQ(plain.position_of(101), 1u);
  EXPECT_EQ(plain.position_of(116), 16u);
  const FileView holes(0, 8, share(resized(contiguous_type(8), 0, 32)));
  EXPECT_EQ(holes.position_of(33), 9u);
  EXPECT_EQ(holes.position_of(32), 8u);
  EXPECT_EQ(holes.position_of(20), 8u);
}

TEST(FileView, ACallerStopsAtTheFirstError) {
  const FileView view(0, 1, share(resized(contiguous_type(1), 0, 2)));
  int calls = 0;
  const Status status = for_each_piece(
      view, 0, contiguous_type(1), nullptr, 1000,
      [&](std::span<const Piece>) { return ++calls == 3 ? Status(Code::no_space) : Status(); });
  EXPECT_EQ(status.code(), Code::no_space);
  EXPECT_EQ(calls, 3);
}

TEST(FileView, ASourceEndsAtItsLimit) {
  // [100, 110) [115, 125) [130, 140) [145, 155)
  const FileView view(100, 1, share(vector(contiguous_type(1), 4, 10, 15)));
  const TypeMap memory = contiguous_type(40);
  PieceSource source(view, 0, memory, nullptr, 1);
  source.limit(50);
  EXPECT_EQ(source.bytes_left(), 40u);
  source.limit(view.position_of(118));
  EXPECT_EQ(source.bytes_left(), 13u);
  std::array<Piece, 4> pieces{};
  ASSERT_EQ(source.next(pieces), 2u);
  EXPECT_EQ(pieces[0].size, 10u);
  EXPECT_EQ(pieces[1].offset, 115u);
  EXPECT_EQ(pieces[1].size, 3u);
  EXPECT_EQ(source.next(pieces), 0u);
}

// Not a benchmark: a linear search or an allocation per piece would exceed this bound by far.
TEST(FileView, ASweepGoesFromPieceToPieceAndOverWhatLiesBetween) {
  // 100 bytes of every 200, eight times, then nothing up to 10000.
  const auto rows = share(resized(vector(contiguous_type(100), 8, 1, 2), 0, 10'000));
  const FileView view(50, 1, rows);
  const auto swept = [&view](std::uint64_t position, std::uint64_t bytes, std::uint64_t window) {
    return view.estimate_swept(position, bytes, {.window = window, .gap = 500});
  };
  constexpr std::uint64_t part = 500;  // the cost of one more part
  EXPECT_EQ(swept(0, 100, 1000), part + 100U);
  EXPECT_EQ(swept(0, 500, 1000), part + 900U) << "one part, to the end of the last piece";
  EXPECT_EQ(swept(0, 600, 1000), part + 900U + part + 100) << "the next part begins at a piece";
  EXPECT_EQ(swept(0, 900, 2000), part + 1500U + part + 100) << "a hole of 8500 is not swept";
  EXPECT_EQ(swept(50, 100, 1000), part + 200U) << "from the middle of a piece to that of the next";
  EXPECT_EQ(swept(0, 100, 30), 4 * part + 100U) << "a piece of several parts";
  EXPECT_EQ(swept(0, 0, 30), 0U);
  // In a long transfer, the first pieces stand for all.
  const std::uint64_t many = 1'000'000;
  const auto all = static_cast<double>(swept(0, many * 800, 2000));
  EXPECT_NEAR(all, static_cast<double>(many) * (1500 + part), static_cast<double>(many) * 50);
}

TEST(FileView, APieceCostsNanoseconds) {
  const SubarrayDimension brick[] = {{256, 128, 64}, {256, 128, 64}, {1024, 32, 64}};
  const FileView view(0, 8, share(subarray(contiguous_type(8), brick, Order::c)));
  const TypeMap memory = contiguous_type(8);
  std::uint64_t pieces = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 40; ++round) {
    const Status status =
        for_each_piece(view, 0, memory, nullptr, 128 * 128 * 32, [&](std::span<const Piece> b) {
          pieces += b.size();
          return Status();
        });
    ASSERT_TRUE(status.ok());
  }
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  std::printf("%.1f ns per piece\n", ns / static_cast<double>(pieces));
  EXPECT_EQ(pieces, 40u * 128 * 128);
  EXPECT_LT(ns / static_cast<double>(pieces), 2000.0);
}

}  // namespace
}  // namespace millrace::client
