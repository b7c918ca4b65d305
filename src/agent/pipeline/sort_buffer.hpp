// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory_resource>
#include <span>
#include <vector>

#include "agent/pipeline/block_pool.hpp"
#include "agent/pipeline/cover.hpp"
#include "base/copy.hpp"
#include "extent/extent.hpp"

namespace millrace::agent {

// The bytes of one file that wait to be written, each at its place: file offset -> chunk -> block -> byte.
// A record is copied once, to where it belongs; a newer one overwrites an older one. Nothing is sorted and
// nothing allocated per record; the order is that of the chunks.
//
//   file    |  chunk 0  |  chunk 1  |  chunk 2  |
//   chunk   | block | block |  -  | block |
//   block   |....=======..==...|   cover map: which bytes are there
//
// Memory is the pool's: the caller asks its has_room() first. Only whole chunks leave. From take() on a chunk
// belongs to the caller (until free_chunk()), and new records for its place make a new chunk.
class SortBuffer {
 public:
  SortBuffer(BlockPool& pool, bool merge);
  ~SortBuffer();
  SortBuffer(const SortBuffer&) = delete;
  SortBuffer& operator=(const SortBuffer&) = delete;

  void insert(std::uint64_t offset, std::span<const std::byte> data) {
    const std::uint64_t in = offset - here_.begin;
    if (in < pool_.block_bytes() && data.size() <= pool_.block_bytes() - in) {
      put(static_cast<std::uint32_t>(in), data.data(), static_cast<std::uint32_t>(data.size()));
    } else {
      insert_far(offset, data);
    }
  }

  // As insert(), but for bytes that are older than what is here: fills the gaps only.
  void insert_under(std::uint64_t offset, std::span<const std::byte> data);

  // Chunks that became complete since the last call, ascending; appended to `out` and taken.
  void take_complete(std::vector<std::uint32_t>& out);
  // The lowest chunk not below the last one taken this way, then again from the lowest. LazyPool::none if
  // empty.
  // Not the chunk of index `except`.
  std::uint32_t take_next(std::uint64_t except = UINT64_MAX);
  // The highest chunk, but not the one of index `except`. LazyPool::none if there is none.
  std::uint32_t take_last(std::uint64_t except = UINT64_MAX);
  // Appends the indices of the chunks that have a byte of `extent`, ascending.
  void find(Extent extent, std::vector<std::uint64_t>& indices) const;
  // The chunk of that index; none if there is none.
  std::uint32_t take_at(std::uint64_t index);

  // The lowest index of a chunk that is not below `from`; UINT64_MAX if there is none.
  std::uint64_t lowest(std::uint64_t from) const {
    const auto place = order_.lower_bound(from);
    return place == order_.end() ? UINT64_MAX : place->first;
  }
  // Behind the highest index of a chunk; 0 if there is none.
  std::uint64_t end() const { return order_.empty() ? 0 : order_.rbegin()->first + 1; }

  // Of the chunk of that index; 0 if there is none.
  std::uint32_t blocks_of(std::uint64_t index) const;
  // True if the chunk of that index is there with all its bytes.
  bool complete(std::uint64_t index) const;

  bool empty() const { return order_.empty(); }
  std::uint32_t blocks() const { return blocks_; }
  std::size_t complete_count() const { return complete_.size(); }
  bool merge() const { return merge_; }
  BlockPool& pool() { return pool_; }

 private:
  std::uint32_t chunk_at(std::uint64_t index) {
    const std::uint32_t id = recent_[index & (recent_.size() - 1)];
    if (id != LazyPool::none) {
      const Chunk& chunk = pool_.chunk(id);
      if (chunk.index == index && chunk.owner == this) return id;
    }
    return find_or_make(index);
  }
  std::uint32_t find_or_make(std::uint64_t index);
  std::uint32_t new_block(Chunk& chunk, std::uint32_t slot);
  void completed(Chunk& chunk, std::uint32_t id);
  void detach(std::uint32_t id);

  void insert_far(std::uint64_t offset, std::span<const std::byte> data);
  void go_to(std::uint64_t offset);

  // Into the block that is here, from its byte `begin` on.
  void put(std::uint32_t begin, const std::byte* data, std::uint32_t size) {
    Chunk& chunk = *here_.chunk;
    copy_bytes(here_.data + begin, data, size);
    chunk.covered += cover::add(pool_, here_.block, begin, begin + size, merge_);
    if (chunk.covered == pool_.chunk_bytes() && !chunk.complete) completed(chunk, here_.id);
  }

  // The block of the last record; the next record mostly lies there too.
  struct Here {
    static constexpr std::uint64_t nowhere = std::uint64_t{3} << 62;  // far from every record
    std::uint64_t begin = nowhere;                                    // file offset
    std::byte* data = nullptr;
    Chunk* chunk = nullptr;
    std::uint32_t block = 0;
    std::uint32_t id = 0;  // of the chunk
  };

  BlockPool& pool_;
  bool merge_;
  Here here_;
  std::uint32_t blocks_ = 0;
  std::uint64_t cursor_ = 0;                // of take_next
  std::array<std::uint32_t, 1024> recent_;  // by low bits of the index; checked, so never cleared
  std::pmr::unsynchronized_pool_resource nodes_;
  std::pmr::map<std::uint64_t, std::uint32_t> order_{&nodes_};  // index -> chunk
  std::vector<std::uint32_t> complete_;
};

// Gives a taken chunk's memory back.
void free_chunk(BlockPool& pool, std::uint32_t id);

}  // namespace millrace::agent
