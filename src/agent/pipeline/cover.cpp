// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/cover.hpp"

#include <algorithm>

namespace millrace::agent::cover {

void make_map(BlockPool& pool, std::uint32_t id, std::uint32_t begin, std::uint32_t end, bool merge) {
  Block& b = pool.block(id);
  const bool coarse = ((begin | end | b.begin | b.end) & 3) == 0;
  b.shape = coarse ? CoverShape::coarse : CoverShape::fine;
  if (!coarse) b.fine = pool.fine_maps.allocate();
  const std::uint32_t shift = coarse ? 2 : 0;
  const std::size_t bytes = std::size_t{pool.map_words(b.shape)} * sizeof(std::uint64_t);
  std::memset(pool.cover_bits(id, b), 0, bytes);
  set_bits(pool.cover_bits(id, b), b.begin >> shift, b.end >> shift);
  if (merge) return;
  std::memset(pool.start_bits(id, b), 0, bytes);
  set_bits(pool.start_bits(id, b), b.begin >> shift, (b.begin >> shift) + 1);
}

// From a bit per 4 bytes to a bit per byte.
void refine(BlockPool& pool, std::uint32_t id, bool merge) {
  Block& b = pool.block(id);
  const Block old = b;
  b.fine = pool.fine_maps.allocate();
  b.shape = CoverShape::fine;
  const std::size_t bytes = std::size_t{pool.map_words(b.shape)} * sizeof(std::uint64_t);
  const std::uint32_t limit = pool.block_bytes() / 4;
  std::uint64_t* fine = pool.cover_bits(id, b);
  const std::uint64_t* coarse = pool.cover_bits(id, old);
  std::memset(fine, 0, bytes);
  for (std::uint32_t bit = find_bit(coarse, 0, limit); bit < limit;) {
    const std::uint32_t end = find_bit(coarse, bit, limit, inverted);
    set_bits(fine, bit * 4, end * 4);
    bit = find_bit(coarse, end, limit);
  }
  if (merge) return;
  std::uint64_t* starts = pool.start_bits(id, b);
  const std::uint64_t* coarse_starts = pool.start_bits(id, old);
  std::memset(starts, 0, bytes);
  for (std::uint32_t bit = find_bit(coarse_starts, 0, limit); bit < limit;
       bit = find_bit(coarse_starts, bit + 1, limit)) {
    set_bits(starts, bit * 4, bit * 4 + 1);
  }
}

void mark_record(BlockPool& pool, std::uint32_t id, std::uint32_t begin, std::uint32_t end) {
  Block& b = pool.block(id);
  const std::uint32_t shift = b.shape == CoverShape::coarse ? 2 : 0;
  std::uint64_t* starts = pool.start_bits(id, b);
  clear_bits(starts, begin >> shift, end >> shift);
  set_bits(starts, begin >> shift, (begin >> shift) + 1);
  // The rest of an older record behind this one is a record of its own now.
  if (end < b.end && test_bit(pool.cover_bits(id, b), end >> shift)) {
    set_bits(starts, end >> shift, (end >> shift) + 1);
  }
}

Range next_run(const BlockPool& pool, std::uint32_t id, std::uint32_t from, bool merge) {
  const Block& b = pool.block(id);
  if (b.covered == 0 || from >= b.end) return {0, 0};
  if (b.shape == CoverShape::run) return {std::max(from, b.begin), b.end};
  const std::uint32_t shift = b.shape == CoverShape::coarse ? 2 : 0;
  const std::uint32_t limit = b.end >> shift;
  const std::uint64_t* bits = pool.cover_bits(id, b);
  const std::uint32_t begin = find_bit(bits, std::max(from, b.begin) >> shift, limit);
  if (begin >= limit) return {0, 0};
  std::uint32_t end = find_bit(bits, begin, limit, inverted);
  if (!merge) end = find_bit(pool.start_bits(id, b), begin + 1, end);
  return {begin << shift, end << shift};
}

Range next_gap(const BlockPool& pool, std::uint32_t id, std::uint32_t from, std::uint32_t end) {
  const Block& b = pool.block(id);
  if (b.covered == 0) return {from, end};
  if (b.shape == CoverShape::run) {
    if (from < b.begin) return {from, std::min(end, b.begin)};
    const std::uint32_t begin = std::max(from, b.end);
    return begin < end ? Range{begin, end} : Range{0, 0};
  }
  const std::uint32_t shift = b.shape == CoverShape::coarse ? 2 : 0;
  const std::uint64_t* bits = pool.cover_bits(id, b);
  // A bit at the edge may stand for bytes outside [from, end). The return statement cuts these off.
  const std::uint32_t limit = (end + (1U << shift) - 1) >> shift;
  const std::uint32_t begin = find_bit(bits, from >> shift, limit, inverted);
  if (begin >= limit) return {0, 0};
  const std::uint32_t gap_end = find_bit(bits, begin, limit);
  return {std::max(from, begin << shift), std::min(end, gap_end << shift)};
}

}  // namespace millrace::agent::cover
