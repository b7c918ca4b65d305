// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/block_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "base/settings.hpp"

namespace millrace::agent {

namespace {

constexpr std::uint64_t descriptions_free_bytes = 24 * MiB;
constexpr std::uint64_t fine_bytes_max = 16 * MiB;
constexpr std::uint64_t chunk_nodes_bytes_max = 8 * MiB;
constexpr std::uint32_t blocks_min = 4;  // two records of a block's size, each of which may touch two blocks

std::uint64_t description_bytes(std::uint64_t block_bytes) {
  return block_bytes / 16 + sizeof(Block) + sizeof(std::uint32_t);
}

std::uint32_t block_count(std::uint64_t buffer_bytes, std::uint64_t block_bytes) {
  std::uint64_t count = buffer_bytes / block_bytes;
  if (count * description_bytes(block_bytes) > descriptions_free_bytes) {
    count = (buffer_bytes + descriptions_free_bytes) / (block_bytes + description_bytes(block_bytes));
  }
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count, blocks_min, LazyPool::none - 1));
}

std::uint32_t fine_count(std::uint32_t blocks, std::uint64_t block_bytes) {
  const std::uint64_t most = std::max<std::uint64_t>(blocks_min, fine_bytes_max / (block_bytes / 4));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, most));
}

std::uint32_t chunk_count(std::uint32_t blocks) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, chunk_nodes_bytes_max / sizeof(Chunk)));
}

// A chunk has a power of two of blocks. It is 1 MiB long, but shorter if fewer than eight would fit into the
// buffer.
std::uint32_t slot_count(std::uint32_t blocks, std::uint64_t block_bytes) {
  const std::uint64_t wish =
      std::min<std::uint64_t>(chunk_slots_max, std::max<std::uint64_t>(1, MiB / block_bytes));
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(wish, std::bit_floor(std::max<std::uint64_t>(1, blocks / 8))));
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

LazyPool::LazyPool(std::size_t item_bytes, std::uint32_t count) : item_bytes_(item_bytes), count_(count) {
  const std::uint64_t items = round_up(std::uint64_t{item_bytes} * count, 4096);
  mapped_bytes_ = items + sizeof(std::uint32_t) * std::uint64_t{count};
  void* memory = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // Huge pages avoid most of the cost of the first access to memory. A hint, which may fail.
  if (item_bytes >= 4096) (void)::madvise(memory, items, MADV_HUGEPAGE);
  base_ = static_cast<std::byte*>(memory);
  next_ = reinterpret_cast<std::uint32_t*>(base_ + items);
}

LazyPool::~LazyPool() { ::munmap(base_, mapped_bytes_); }

void LazyPool::rest() {
  (void)::madvise(base_, mapped_bytes_, MADV_FREE);
  free_head_ = none;
  known_ = std::max(known_, untouched_);
  untouched_ = in_use_ = peak_ = 0;
}

BlockPool::BlockPool(std::uint64_t sort_buffer_bytes, std::uint64_t block_bytes)
    : blocks(block_bytes, block_count(sort_buffer_bytes, block_bytes)),
      fine_maps(block_bytes / 4, fine_count(blocks.count(), block_bytes)),
      chunks(sizeof(Chunk), chunk_count(blocks.count())),
      coarse_cover_(block_bytes / 32, blocks.count()),
      coarse_start_(block_bytes / 32, blocks.count()),
      meta_(sizeof(Block), blocks.count()),
      sort_buffer_bytes_(sort_buffer_bytes),
      block_shift_(static_cast<std::uint32_t>(std::countr_zero(block_bytes))),
      slots_(slot_count(blocks.count(), block_bytes)),
      chunk_shift_(block_shift_ + static_cast<std::uint32_t>(std::countr_zero(slots_))) {}

void BlockPool::rest() {
  for (LazyPool* one : {&blocks, &fine_maps, &chunks, &coarse_cover_, &coarse_start_, &meta_}) one->rest();
}

std::uint64_t BlockPool::metadata_bytes() const {
  const std::uint64_t per_block = description_bytes(block_bytes());
  return blocks.peak() * per_block + fine_maps.touched_bytes() + chunks.touched_bytes();
}

}  // namespace millrace::agent
