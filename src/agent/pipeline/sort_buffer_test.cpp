// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/sort_buffer.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "agent/pipeline/cover.hpp"
#include "base/settings.hpp"

namespace millrace::agent {
namespace {

constexpr std::uint32_t block_bytes = 4096;
constexpr std::uint32_t round_blocks = 64;

struct Piece {
  std::uint64_t begin;
  std::uint64_t end;
  friend bool operator==(const Piece&, const Piece&) = default;
};

// The expected content of a block: for each byte the number of its record (0 = none).
struct Model {
  std::vector<int> owner = std::vector<int>(block_bytes, 0);
  std::vector<bool> start = std::vector<bool>(block_bytes + 1, false);

  void add(std::uint32_t begin, std::uint32_t end, int record) {
    if (end < block_bytes && owner[end] != 0) start[end] = true;
    for (std::uint32_t i = begin; i < end; ++i) owner[i] = record, start[i] = false;
    start[begin] = true;
  }
  std::vector<Piece> pieces(bool merge) const {
    std::vector<Piece> all;
    for (std::uint32_t i = 0; i < block_bytes; ++i) {
      if (owner[i] == 0) continue;
      const bool fresh = i == 0 || owner[i - 1] == 0 || (!merge && start[i]);
      if (fresh) all.push_back({i, i});
      all.back().end = i + 1;
    }
    return all;
  }
};

std::vector<Piece> pieces(const BlockPool& pool, std::uint32_t id, bool merge) {
  std::vector<Piece> all;
  for (std::uint32_t at = 0;;) {
    const cover::Range run = cover::next_run(pool, id, at, merge);
    if (run.begin == run.end) return all;
    all.push_back({run.begin, run.end});
    at = run.end;
  }
}

std::vector<Piece> gaps(const BlockPool& pool, std::uint32_t id, std::uint32_t begin, std::uint32_t end) {
  std::vector<Piece> all;
  for (std::uint32_t at = begin; at < end;) {
    const cover::Range gap = cover::next_gap(pool, id, at, end);
    if (gap.begin == gap.end) return all;
    all.push_back({gap.begin, gap.end});
    at = gap.end;
  }
  return all;
}

TEST(Cover, agrees_with_a_map_of_bytes) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const bool merge = random() % 2 == 0;
    const std::uint32_t align = 1U << (random() % 4);
    const std::uint32_t most = 1U << (3 + random() % 10);
    BlockPool pool(MiB, block_bytes);
    const std::uint32_t id = pool.blocks.allocate();
    pool.block(id) = {};
    Model model;
    std::uint32_t covered = 0;
    for (int record = 1; record <= 60; ++record) {
      const bool odd = random() % 50 == 0;
      const std::uint32_t unit = odd ? 1 : align;
      std::uint32_t begin = static_cast<std::uint32_t>(random() % block_bytes) / unit * unit;
      std::uint32_t end = std::min(
          block_bytes, begin + std::max(unit, static_cast<std::uint32_t>(random() % most) / unit * unit));
      if (random() % 40 == 0) begin = 0, end = block_bytes;
      covered += cover::add(pool, id, begin, end, merge);
      model.add(begin, end, record);
      ASSERT_EQ(pieces(pool, id, merge), model.pieces(merge)) << "record " << record;
      const auto count = static_cast<std::uint32_t>(
          std::count_if(model.owner.begin(), model.owner.end(), [](int owner) { return owner != 0; }));
      ASSERT_EQ(covered, count);
      ASSERT_EQ(pool.block(id).covered, count);
      const std::uint32_t from = static_cast<std::uint32_t>(random() % block_bytes);
      const std::uint32_t to = from + 1 + static_cast<std::uint32_t>(random() % (block_bytes - from));
      std::vector<Piece> missing;
      for (std::uint32_t i = from; i < to; ++i) {
        if (model.owner[i] != 0) continue;
        if (missing.empty() || missing.back().end != i) missing.push_back({i, i});
        missing.back().end = i + 1;
      }
      ASSERT_EQ(gaps(pool, id, from, to), missing);
    }
  }
}

std::vector<std::byte> bytes(std::size_t size, int value) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

std::uint64_t index_of(BlockPool& pool, std::uint32_t id) { return pool.chunk(id).index; }

TEST(SortBuffer, sparse_chunks_leave_in_turn) {
  BlockPool pool(MiB, block_bytes);
  SortBuffer buffer(pool, true);
  const std::uint64_t chunk = pool.chunk_bytes();
  for (const std::uint64_t index : {5, 1, 9}) buffer.insert(index * chunk, bytes(10, 1));
  std::vector<std::uint64_t> order;
  const auto next = [&] {
    const std::uint32_t id = buffer.take_next(round_blocks);
    order.push_back(index_of(pool, id));
    free_chunk(pool, id);
  };
  next();
  next();
  buffer.insert(2 * chunk, bytes(10, 1));  // below the last chunk taken, so it comes after the wrap
  buffer.insert(7 * chunk, bytes(10, 1));
  next();
  next();
  next();
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 5, 7, 9, 2}));
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(pool.blocks.in_use(), 0u);
}

// A round is as long as three such chunks. The chunk with one block stays too.
TEST(SortBuffer, the_lowest_chunks_with_half_of_their_blocks_make_room_again_and_again) {
  BlockPool pool(MiB, block_bytes);
  SortBuffer buffer(pool, true);
  const auto half = [&](std::uint64_t index) {
    for (std::uint32_t block = 0; block < pool.slots() / 2; ++block)
      buffer.insert(index * pool.chunk_bytes() + block * block_bytes, bytes(10, 1));
  };
  buffer.insert(pool.chunk_bytes(), bytes(10, 1));
  for (const std::uint64_t index : {2, 3, 4, 5}) half(index);
  std::vector<std::uint64_t> order;
  for (const std::uint64_t back : {2, 3, 4, 2, 3, 4}) {
    const std::uint32_t id = buffer.take_next(3 * pool.slots() / 2);
    order.push_back(index_of(pool, id));
    free_chunk(pool, id);
    half(back);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 3, 4, 2, 3, 4}));
}

TEST(SortBuffer, the_chunk_that_must_stay_stays_if_it_has_most_blocks) {
  BlockPool pool(MiB, block_bytes);
  SortBuffer buffer(pool, true);
  buffer.insert(0, bytes(pool.chunk_bytes(), 1));
  buffer.insert(2 * pool.chunk_bytes(), bytes(10, 1));
  const std::uint32_t id = buffer.take_next(round_blocks, 0);
  ASSERT_NE(id, LazyPool::none);
  EXPECT_EQ(index_of(pool, id), 2u);
  free_chunk(pool, id);
  EXPECT_EQ(buffer.take_next(round_blocks, 0), LazyPool::none);
}

TEST(SortBuffer, highest_chunk_leaves_from_the_other_end) {
  BlockPool pool(MiB, block_bytes);
  SortBuffer buffer(pool, true);
  EXPECT_EQ(buffer.lowest(0), UINT64_MAX);
  EXPECT_EQ(buffer.end(), 0u);
  const std::uint64_t chunk = pool.chunk_bytes();
  for (const std::uint64_t index : {5, 1, 9}) buffer.insert(index * chunk, bytes(10, 1));
  EXPECT_EQ(buffer.lowest(1), 1u);
  EXPECT_EQ(buffer.lowest(2), 5u);
  EXPECT_EQ(buffer.lowest(10), UINT64_MAX);
  EXPECT_EQ(buffer.end(), 10u);
  std::vector<std::uint64_t> order;
  for (std::uint32_t id = buffer.take_last(5); id != LazyPool::none; id = buffer.take_last(5)) {
    order.push_back(index_of(pool, id));
    free_chunk(pool, id);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{9, 1}));
  EXPECT_EQ(buffer.lowest(0), 5u);
  EXPECT_EQ(buffer.take_last(5), LazyPool::none);
}

TEST(SortBuffer, records_for_a_taken_chunk_make_a_new_one) {
  BlockPool pool(MiB, block_bytes);
  SortBuffer buffer(pool, true);
  buffer.insert(0, bytes(100, 1));
  const std::uint32_t taken = buffer.take_at(0);
  buffer.insert(50, bytes(100, 2));
  EXPECT_EQ(pool.chunk(taken).covered, 100u);
  const std::uint32_t fresh = buffer.take_at(0);
  ASSERT_NE(fresh, LazyPool::none);
  EXPECT_NE(fresh, taken);
  EXPECT_EQ(pool.data(pool.chunk(taken).slots[0])[60], std::byte{1});
  EXPECT_EQ(pool.data(pool.chunk(fresh).slots[0])[60], std::byte{2});
  free_chunk(pool, taken);
  free_chunk(pool, fresh);
}

TEST(SortBuffer, complete_chunks_are_told_in_ascending_order) {
  BlockPool pool(MiB, block_bytes);
  SortBuffer buffer(pool, true);
  const std::uint64_t chunk = pool.chunk_bytes();
  const auto whole = bytes(chunk, 3);
  for (const std::uint64_t index : {4, 2, 3}) buffer.insert(index * chunk, whole);
  buffer.insert(chunk, std::span(whole).first(chunk - 1));
  std::vector<std::uint32_t> ids;
  buffer.take_complete(ids);
  ASSERT_EQ(ids.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(index_of(pool, ids[i]), 2 + i);
    free_chunk(pool, ids[i]);
  }
  EXPECT_FALSE(buffer.empty());
}

TEST(SortBuffer, older_bytes_fill_only_gaps) {
  BlockPool pool(MiB, block_bytes);
  SortBuffer buffer(pool, true);
  buffer.insert(10, bytes(10, 2));
  buffer.insert(4090, bytes(12, 2));
  buffer.insert_under(0, bytes(5000, 1));
  const std::uint32_t id = buffer.take_at(0);
  EXPECT_EQ(pool.chunk(id).covered, 5000u);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const bool newer = (i >= 10 && i < 20) || (i >= 4090 && i < 4102);
    ASSERT_EQ(pool.data(pool.chunk(id).slots[i / block_bytes])[i % block_bytes], std::byte(newer ? 2 : 1))
        << i;
  }
  free_chunk(pool, id);
}

TEST(BlockPool, descriptions_stay_bounded_at_every_size) {
  for (const std::uint64_t buffer : {1 * MiB, 16 * MiB, 256 * MiB, 4 * GiB}) {
    for (std::uint64_t block = 4 * KiB; block <= MiB; block *= 4) {
      const BlockPool pool(buffer, block);
      const std::uint64_t blocks = pool.blocks.count();
      const std::uint64_t maps = blocks * (block / 16 + sizeof(Block) + 4);
      const std::uint64_t fine = pool.fine_maps.count() * (block / 4 + 4);
      const std::uint64_t nodes = pool.chunks.count() * (sizeof(Chunk) + 4);
      EXPECT_LE(blocks * block + maps + fine + nodes, std::max(buffer, 4 * block) + 50 * MiB)
          << buffer << " " << block;
      EXPECT_GE(pool.blocks.count(), 8 * pool.slots() - (pool.slots() == 1 ? 4 : 0));
      EXPECT_GE(pool.fine_maps.count(), pool.slots());
    }
  }
}

// The kernel takes memory that rests only if it is short of memory.
TEST(BlockPool, that_rests_is_as_new_and_keeps_its_memory) {
  BlockPool pool(16 * MiB, 32 * KiB);
  SortBuffer sort(pool, true);
  const std::vector<std::byte> record(32 * KiB, std::byte{1});
  const auto fill = [&] {
    for (std::uint64_t at = 0; at < 8 * MiB; at += record.size()) sort.insert(at, record);
    for (std::uint32_t id = sort.take_last(); id != LazyPool::none; id = sort.take_last())
      free_chunk(pool, id);
  };
  const auto faults = [] {
    rusage used = {};
    EXPECT_EQ(::getrusage(RUSAGE_THREAD, &used), 0);
    return used.ru_minflt;
  };
  const long before = faults();
  fill();
  const long first = faults() - before;
  EXPECT_EQ(pool.peak_bytes(), 8 * MiB);
  pool.rest();
  EXPECT_EQ(pool.peak_bytes(), 0u);
  EXPECT_EQ(pool.free().blocks, pool.all().blocks);
  const long rested = faults();
  fill();
  EXPECT_LT((faults() - rested) * 2, first);
  EXPECT_EQ(pool.peak_bytes(), 8 * MiB);
}

}  // namespace
}  // namespace millrace::agent
