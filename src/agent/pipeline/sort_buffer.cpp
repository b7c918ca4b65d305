// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/sort_buffer.hpp"

#include <algorithm>
#include <iterator>

namespace millrace::agent {

namespace {

// The lowest index at or above `from`, or else the lowest one; never `except`. UINT64_MAX if there is no
// other.
template <class Map>
std::uint64_t next_in(const Map& chunks, std::uint64_t from, std::uint64_t except) {
  auto place = chunks.lower_bound(from);
  if (place != chunks.end() && place->first == except) ++place;
  if (place == chunks.end()) place = chunks.begin();
  if (place != chunks.end() && place->first == except) ++place;
  return place == chunks.end() ? UINT64_MAX : place->first;
}

}  // namespace

SortBuffer::SortBuffer(BlockPool& pool, bool merge) : pool_(pool), merge_(merge) {
  recent_.fill(LazyPool::none);
}

SortBuffer::~SortBuffer() {
  while (!order_.empty()) free_chunk(pool_, take_last());
}

std::uint32_t SortBuffer::find_or_make(std::uint64_t index) {
  const auto [place, made] = order_.try_emplace(index, LazyPool::none);
  if (made) {
    const std::uint32_t id = pool_.chunks.allocate();
    Chunk& chunk = pool_.chunk(id);
    chunk.index = index;
    chunk.owner = this;
    chunk.covered = 0;
    chunk.blocks = 0;
    chunk.complete = false;
    std::fill_n(chunk.slots, pool_.slots(), LazyPool::none);
    place->second = id;
  }
  recent_[index & (recent_.size() - 1)] = place->second;
  return place->second;
}

std::uint32_t SortBuffer::new_block(Chunk& chunk, std::uint32_t slot) {
  const std::uint32_t id = pool_.blocks.allocate();
  Block& block = pool_.block(id);
  block.begin = 0;
  block.end = 0;
  block.covered = 0;
  block.shape = CoverShape::run;
  chunk.slots[slot] = id;
  ++chunk.blocks;
  ++blocks_;
  if (chunk.blocks == (pool_.slots() + 1) / 2) half_full_.emplace(chunk.index, order_.at(chunk.index));
  return id;
}

// Sets `here_` to the block of `offset`.
void SortBuffer::go_to(std::uint64_t offset) {
  const std::uint32_t id = chunk_at(offset >> pool_.chunk_shift());
  Chunk& chunk = pool_.chunk(id);
  const std::uint32_t slot =
      static_cast<std::uint32_t>((offset & (pool_.chunk_bytes() - 1)) >> pool_.block_shift());
  std::uint32_t block = chunk.slots[slot];
  if (block == LazyPool::none) block = new_block(chunk, slot);
  here_ = {offset & ~std::uint64_t{pool_.block_bytes() - 1}, pool_.data(block), &chunk, block, id};
}

void SortBuffer::insert_far(std::uint64_t offset, std::span<const std::byte> data) {
  const std::uint32_t block_bytes = pool_.block_bytes();
  do {
    go_to(offset);
    const std::uint32_t begin = static_cast<std::uint32_t>(offset - here_.begin);
    const std::size_t size = std::min<std::size_t>(data.size(), block_bytes - begin);
    put(begin, data.data(), static_cast<std::uint32_t>(size));
    offset += size;
    data = data.subspan(size);
  } while (!data.empty());
}

void SortBuffer::completed(Chunk& chunk, std::uint32_t id) {
  chunk.complete = true;
  complete_.push_back(id);
}

void SortBuffer::insert_under(std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    go_to(offset);
    const std::uint32_t begin = static_cast<std::uint32_t>(offset - here_.begin);
    const std::uint32_t size =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(data.size(), pool_.block_bytes() - begin));
    const std::uint32_t end = begin + size;
    for (cover::Range gap = cover::next_gap(pool_, here_.block, begin, end); gap.begin < gap.end;
         gap = cover::next_gap(pool_, here_.block, gap.end, end))
      put(gap.begin, data.data() + (gap.begin - begin), gap.end - gap.begin);
    offset += size;
    data = data.subspan(size);
  }
}

// Removes the chunk from the index, so that later records for its place make a new chunk.
void SortBuffer::detach(std::uint32_t id) {
  Chunk& chunk = pool_.chunk(id);
  if (here_.id == id) here_ = {};
  order_.erase(chunk.index);
  half_full_.erase(chunk.index);
  chunk.owner = nullptr;
  blocks_ -= chunk.blocks;
  if (chunk.complete) std::erase(complete_, id);
}

void SortBuffer::take_complete(std::vector<std::uint32_t>& out) {
  if (complete_.empty()) return;
  std::vector<std::uint32_t> ids;
  ids.swap(complete_);
  std::sort(ids.begin(), ids.end(),
            [this](std::uint32_t a, std::uint32_t b) { return pool_.chunk(a).index < pool_.chunk(b).index; });
  for (const std::uint32_t id : ids) detach(id);
  out.insert(out.end(), ids.begin(), ids.end());
}

std::uint32_t SortBuffer::take_next(std::uint32_t round_blocks, std::uint64_t except) {
  if (round_ >= round_blocks) half_full_turn_ = round_ = 0;
  std::uint64_t index = next_in(half_full_, half_full_turn_, except);
  if (index != UINT64_MAX) {
    half_full_turn_ = index + 1;
    round_ += blocks_of(index);
  } else {
    index = next_in(order_, turn_, except);
    turn_ = index + 1;
  }
  return take_at(index);
}

std::uint32_t SortBuffer::take_last(std::uint64_t except) {
  if (order_.empty()) return LazyPool::none;
  auto place = std::prev(order_.end());
  if (place->first == except) {
    if (place == order_.begin()) return LazyPool::none;
    --place;
  }
  return take_at(place->first);
}

void SortBuffer::find(Extent extent, std::vector<std::uint64_t>& indices) const {
  if (extent.empty()) return;
  const std::uint64_t last = (extent.end - 1) >> pool_.chunk_shift();
  auto place = order_.lower_bound(extent.begin >> pool_.chunk_shift());
  for (; place != order_.end() && place->first <= last; ++place) indices.push_back(place->first);
}

std::uint32_t SortBuffer::blocks_of(std::uint64_t index) const {
  const auto place = order_.find(index);
  return place == order_.end() ? 0 : pool_.chunk(place->second).blocks;
}

bool SortBuffer::complete(std::uint64_t index) const {
  const auto place = order_.find(index);
  return place != order_.end() && pool_.chunk(place->second).complete;
}

std::uint32_t SortBuffer::take_at(std::uint64_t index) {
  const auto place = order_.find(index);
  if (place == order_.end()) return LazyPool::none;
  const std::uint32_t id = place->second;
  detach(id);
  return id;
}

void free_chunk(BlockPool& pool, std::uint32_t id) {
  Chunk& chunk = pool.chunk(id);
  chunk.owner = nullptr;
  for (std::uint32_t slot = 0; slot < pool.slots(); ++slot) {
    const std::uint32_t block = chunk.slots[slot];
    if (block == LazyPool::none) continue;
    cover::drop_map(pool, pool.block(block));
    pool.blocks.release(block);
  }
  pool.chunks.release(id);
}

}  // namespace millrace::agent
