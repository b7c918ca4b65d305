// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "agent/pipeline/budget.hpp"

namespace millrace::agent {

// `count` items of `item_bytes` in one anonymous mapping, which takes memory only for used items. The pool
// gives out the last returned item first, so a stream stays in cache and in few pages. Owns the mapping. No
// allocation after construction. Not thread safe.
class LazyPool {
 public:
  LazyPool(std::size_t item_bytes, std::uint32_t count);
  ~LazyPool();
  LazyPool(const LazyPool&) = delete;
  LazyPool& operator=(const LazyPool&) = delete;

  // The caller has checked available(). The item still has the bytes of its last user.
  std::uint32_t allocate() {
    const std::uint32_t id = free_head_ != none ? std::exchange(free_head_, next_[free_head_]) : untouched_++;
    ++in_use_;
    if (in_use_ > peak_) peak_ = in_use_;
    return id;
  }
  void release(std::uint32_t id) {
    next_[id] = free_head_;
    free_head_ = id;
    --in_use_;
  }
  // All items have been released, and their bytes are not needed: the system may take the memory when it is
  // short of it. Until then, the next use of an item costs no new page.
  void rest();
  std::byte* at(std::uint32_t id) const { return base_ + std::size_t{id} * item_bytes_; }

  std::size_t item_bytes() const { return item_bytes_; }
  std::uint32_t count() const { return count_; }
  std::uint32_t available() const { return count_ - in_use_; }
  std::uint32_t in_use() const { return in_use_; }
  std::uint32_t peak() const { return peak_; }
  // The bytes of items that were ever used, before rest() too.
  std::uint64_t known_bytes() const { return std::uint64_t{std::max(known_, untouched_)} * item_bytes_; }
  std::uint64_t touched_bytes() const {
    return std::uint64_t{untouched_} * (item_bytes_ + sizeof(std::uint32_t));
  }

  static constexpr std::uint32_t none = UINT32_MAX;

 private:
  std::size_t item_bytes_;
  std::uint32_t count_;
  std::byte* base_ = nullptr;
  std::uint32_t* next_ = nullptr;  // behind the items, in the same mapping
  std::size_t mapped_bytes_ = 0;
  std::uint32_t free_head_ = none;
  std::uint32_t untouched_ = 0;  // the first item that was not used since rest()
  std::uint32_t known_ = 0;      // the first one that was not used before
  std::uint32_t in_use_ = 0;
  std::uint32_t peak_ = 0;
};

inline constexpr std::uint32_t chunk_slots_max = 32;

// A part of the file, `slots` blocks long. Some of the blocks have bytes.
struct Chunk {
  std::uint64_t index;    // file offset / chunk bytes
  const void* owner;      // the sort buffer that puts records into it; nullptr after it has left
  std::uint32_t covered;  // bytes
  std::uint32_t blocks;
  bool complete;                         // the sort buffer knows that it is complete
  std::uint32_t slots[chunk_slots_max];  // block ids, LazyPool::none where there is no byte
};

// The form of the record of a block's present bytes.
enum class CoverShape : std::uint8_t {
  run,     // [begin, end) and nothing else (with merging off: one record)
  coarse,  // a bit per 4 bytes
  fine,    // a bit per byte
};

struct Block {
  std::uint32_t begin;  // of the hull of all bytes
  std::uint32_t end;
  std::uint32_t covered;
  std::uint32_t fine;  // id of the fine map, if CoverShape::fine
  CoverShape shape;
};

// The memory of all sort buffers of one agent: blocks and their descriptions. The constructor bounds all of
// it. One pool serves all files. The sort_buffer and record_max of the first file decide its size for as long
// as any file is open.
//
//   blocks         sort_buffer bytes (at least 4 blocks)
//   coarse maps    1/32 of the blocks they describe; as much again for record boundaries, if merging is off
//   fine maps      at most 16 MiB
//   chunks         at most 8 MiB
//
// If the descriptions would need more than 24 MiB, the pool has fewer blocks, so that the agent's memory
// stays below sort_buffer + 64 MiB.
class BlockPool {
 public:
  BlockPool(std::uint64_t sort_buffer_bytes, std::uint64_t block_bytes);

  std::uint32_t block_bytes() const { return static_cast<std::uint32_t>(blocks.item_bytes()); }
  std::uint32_t block_shift() const { return block_shift_; }
  std::uint32_t slots() const { return slots_; }  // blocks per chunk
  std::uint64_t chunk_bytes() const { return std::uint64_t{slots_} << block_shift_; }
  std::uint32_t chunk_shift() const { return chunk_shift_; }

  std::byte* data(std::uint32_t id) const { return blocks.at(id); }
  Block& block(std::uint32_t id) const { return *reinterpret_cast<Block*>(meta_.at(id)); }

  // The bits of a block's present bytes, and (merging off) of the first bytes of its records.
  std::uint64_t* cover_bits(std::uint32_t id, const Block& b) const {
    return words(b.shape == CoverShape::fine ? fine_maps.at(b.fine) : coarse_cover_.at(id));
  }
  std::uint64_t* start_bits(std::uint32_t id, const Block& b) const {
    return words(b.shape == CoverShape::fine ? fine_maps.at(b.fine) + block_bytes() / 8
                                             : coarse_start_.at(id));
  }
  std::uint32_t map_words(CoverShape shape) const {
    return block_bytes() >> (shape == CoverShape::fine ? 6 : 8);
  }

  Chunk& chunk(std::uint32_t id) const { return *reinterpret_cast<Chunk*>(chunks.at(id)); }

  // The numbers of free blocks, fine maps and chunks, and of all of them.
  Budget::Supply free() const { return {blocks.available(), fine_maps.available(), chunks.available()}; }
  Budget::Supply all() const { return {blocks.count(), fine_maps.count(), chunks.count()}; }
  // The most blocks that `bytes` bytes can touch.
  std::uint32_t spans(std::uint32_t bytes) const { return ((bytes + block_bytes() - 1) >> block_shift_) + 1; }
  std::uint64_t capacity_bytes() const { return std::uint64_t{blocks.count()} << block_shift_; }

  std::uint64_t peak_bytes() const { return std::uint64_t{blocks.peak()} << block_shift_; }
  std::uint64_t metadata_bytes() const;

  // True if it was made for these sizes.
  bool serves(std::uint64_t sort_buffer_bytes, std::uint64_t block_bytes) const {
    return sort_buffer_bytes == sort_buffer_bytes_ && block_bytes == blocks.item_bytes();
  }
  // The last file has ended: see LazyPool::rest().
  void rest();

  LazyPool blocks;
  LazyPool fine_maps;
  LazyPool chunks;

 private:
  static std::uint64_t* words(std::byte* bytes) { return reinterpret_cast<std::uint64_t*>(bytes); }

  // Indexed by block id. Their own allocate() is not used.
  LazyPool coarse_cover_;
  LazyPool coarse_start_;
  LazyPool meta_;
  std::uint64_t sort_buffer_bytes_;
  std::uint32_t block_shift_;
  std::uint32_t slots_;
  std::uint32_t chunk_shift_;
};

}  // namespace millrace::agent
