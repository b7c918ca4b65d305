// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "agent/pipeline/block_pool.hpp"

// Records which bytes of a block are present. A block begins as one run of bytes. A record that does not
// touch the run turns it into a bit map: a bit per 4 bytes if all records so far begin and end on a multiple
// of 4, else a bit per byte. So under every pattern, a record costs a few words, no search and no allocation.
// With merging on, a block becomes a run again when its bytes are one run. With merging off, a second map has
// a bit at the begin of each record; a newer record cuts or covers the older ones:
//
//    older     |=======A=======|====B====|
//    newer              |=====C=====|
//    after     |===A====|=====C=====|=B==|
//
namespace millrace::agent::cover {

struct Range {  // within a block, bytes
  std::uint32_t begin;
  std::uint32_t end;
};

// Masks for the first and the last word of bits [begin, end), begin < end.
inline std::uint64_t low_mask(std::uint32_t bit) { return ~std::uint64_t{0} << (bit & 63); }
inline std::uint64_t high_mask(std::uint32_t bit) { return ~std::uint64_t{0} >> ((64 - (bit & 63)) & 63); }

// Sets bits; returns how many were clear.
inline std::uint32_t set_bits(std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t first = begin >> 6, last = (end - 1) >> 6;
  if (first == last) {  // most small records
    const std::uint64_t mask = low_mask(begin) & high_mask(end), old = words[first];
    words[first] = old | mask;
    return (old & mask) == 0 ? end - begin : static_cast<std::uint32_t>(std::popcount(mask & ~old));
  }
  std::uint32_t added = 0;
  for (std::uint32_t i = first; i <= last; ++i) {
    std::uint64_t mask = i == first ? low_mask(begin) : ~std::uint64_t{0};
    if (i == last) mask &= high_mask(end);
    const std::uint64_t old = words[i];
    words[i] = old | mask;
    const std::uint64_t fresh = mask & ~old;
    // Usually a whole word. popcount is a function call if the compiler may not assume the instruction.
    added += fresh == ~std::uint64_t{0} ? 64 : static_cast<std::uint32_t>(std::popcount(fresh));
  }
  return added;
}

inline void clear_bits(std::uint64_t* words, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t first = begin >> 6, last = (end - 1) >> 6;
  for (std::uint32_t i = first; i <= last; ++i) {
    std::uint64_t mask = i == first ? low_mask(begin) : ~std::uint64_t{0};
    if (i == last) mask &= high_mask(end);
    words[i] &= ~mask;
  }
}

inline bool test_bit(const std::uint64_t* words, std::uint32_t bit) {
  return (words[bit >> 6] >> (bit & 63)) & 1;
}

// The first bit in [from, limit) that is set (or, with `flip` all ones, clear); limit if there is none.
inline std::uint32_t find_bit(const std::uint64_t* words, std::uint32_t from, std::uint32_t limit,
                              std::uint64_t flip = 0) {
  if (from >= limit) return limit;
  std::uint32_t i = from >> 6;
  std::uint64_t word = (words[i] ^ flip) & low_mask(from);
  const std::uint32_t last = (limit - 1) >> 6;
  while (word == 0) {
    if (i == last) return limit;
    word = words[++i] ^ flip;
  }
  const std::uint32_t bit = (i << 6) + static_cast<std::uint32_t>(std::countr_zero(word));
  return bit < limit ? bit : limit;
}

inline constexpr std::uint64_t inverted = ~std::uint64_t{0};

// Gives the block's fine map back, if it has one.
inline void drop_map(BlockPool& pool, Block& block) {
  if (block.shape == CoverShape::fine) pool.fine_maps.release(block.fine);
  block.shape = CoverShape::run;
}

// Slow paths of add(), out of line.
void make_map(BlockPool& pool, std::uint32_t id, std::uint32_t begin, std::uint32_t end, bool merge);
void refine(BlockPool& pool, std::uint32_t id, bool merge);
void mark_record(BlockPool& pool, std::uint32_t id, std::uint32_t begin, std::uint32_t end);

// Adds bytes [begin, end) to block `id`. Returns the number of bytes that were not present before.
[[gnu::always_inline]] inline std::uint32_t add(BlockPool& pool, std::uint32_t id, std::uint32_t begin,
                                                std::uint32_t end, bool merge) {
  Block& b = pool.block(id);
  const std::uint32_t before = b.covered;
  if (before == 0 || (begin <= b.begin && end >= b.end)) {  // covers all older bytes
    drop_map(pool, b);
    b.begin = begin;
    b.end = end;
    b.covered = end - begin;
    return b.covered - before;
  }
  if (b.shape == CoverShape::run) {
    if (merge && begin <= b.end && end >= b.begin) {
      if (begin < b.begin) b.begin = begin;
      if (end > b.end) b.end = end;
      b.covered = b.end - b.begin;
      return b.covered - before;
    }
    make_map(pool, id, begin, end, merge);
  }
  if (b.shape == CoverShape::coarse && ((begin | end) & 3) != 0) refine(pool, id, merge);
  const std::uint32_t shift = b.shape == CoverShape::coarse ? 2 : 0;
  b.covered += set_bits(pool.cover_bits(id, b), begin >> shift, end >> shift) << shift;
  if (begin < b.begin) b.begin = begin;
  if (end > b.end) b.end = end;
  if (merge) {
    if (b.covered == b.end - b.begin) drop_map(pool, b);
  } else {
    mark_record(pool, id, begin, end);
  }
  return b.covered - before;
}

// The first run (merging on) or record (off) that ends after `from`, without its bytes before `from`. Empty
// (begin == end) if there is none.
Range next_run(const BlockPool& pool, std::uint32_t id, std::uint32_t from, bool merge);

// The first gap in [from, end); empty if there is none.
Range next_gap(const BlockPool& pool, std::uint32_t id, std::uint32_t from, std::uint32_t end);

}  // namespace millrace::agent::cover
