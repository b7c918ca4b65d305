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

// The bytes of one file that wait to be written, each at its place: file offset -> chunk -> block -> byte. A
// record is copied once, to its place, and overwrites older ones. A record needs no sorting and no
// allocation: a map keeps the chunks in order.
//
//   file    |  chunk 0  |  chunk 1  |  chunk 2  |
//   chunk   | block | block |  -  | block |
//   block   |....=======..==...|   cover map: the bytes that are present
//
// The memory is the pool's; the caller asks the budget first. Only whole chunks leave. A chunk that was taken
// belongs to the caller until free_chunk(), and new records for its place make a new chunk.
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

  // As insert(), but for bytes that are older than those present: fills the gaps only.
  void insert_under(std::uint64_t offset, std::span<const std::byte> data);

  // Takes the complete chunks, and appends them to `out` in file order.
  void take_complete(std::vector<std::uint32_t>& out);
  // Takes a chunk to free memory. Never takes the chunk of index `except`. LazyPool::none if there is no
  // other.
  //
  // - While there are chunks with at least half of their blocks: the lowest one of them above the last one
  // taken.
  //   When `round_blocks` blocks have left, the lowest one of all is the next, so the same chunks leave again
  //   and again. Records in random order meet every chunk soon. So the chunks behind these stay until they
  //   are complete, and leave as one write each.
  // - Otherwise the records are so far apart that no chunk becomes complete, and all chunks leave in turn.
  std::uint32_t take_next(std::uint32_t round_blocks, std::uint64_t except = UINT64_MAX);
  // Takes the highest chunk, but not the one of index `except`. LazyPool::none if there is no other.
  std::uint32_t take_last(std::uint64_t except = UINT64_MAX);
  // Appends the indices of the chunks that meet `extent`, ascending.
  void find(Extent extent, std::vector<std::uint64_t>& indices) const;
  // Takes the chunk of that index; LazyPool::none if there is none.
  std::uint32_t take_at(std::uint64_t index);

  // The lowest index at or above `from` that has a chunk; UINT64_MAX if there is none.
  std::uint64_t lowest(std::uint64_t from) const {
    const auto place = order_.lower_bound(from);
    return place == order_.end() ? UINT64_MAX : place->first;
  }
  // One more than the highest index of a chunk; 0 if there is none.
  std::uint64_t end() const { return order_.empty() ? 0 : order_.rbegin()->first + 1; }

  // The number of blocks of the chunk of that index; 0 if there is none.
  std::uint32_t blocks_of(std::uint64_t index) const;
  // True if the chunk of that index is present with all its bytes.
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

  // Copies into the block of `here_`, from its byte `begin` on.
  void put(std::uint32_t begin, const std::byte* data, std::uint32_t size) {
    Chunk& chunk = *here_.chunk;
    copy_bytes(here_.data + begin, data, size);
    chunk.covered += cover::add(pool_, here_.block, begin, begin + size, merge_);
    if (chunk.covered == pool_.chunk_bytes() && !chunk.complete) completed(chunk, here_.id);
  }

  // The block of the last record. The next record usually lies there too.
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
  std::array<std::uint32_t, 1024> recent_;  // low bits of the index -> chunk; chunk_at() checks each use
  std::pmr::unsynchronized_pool_resource nodes_;
  using Chunks = std::pmr::map<std::uint64_t, std::uint32_t>;  // index -> chunk
  Chunks order_{&nodes_};
  Chunks half_full_{&nodes_};  // the chunks with at least half of their blocks
  // Of take_next(): the index behind the last chunk taken from `order_` or from `half_full_`, and the blocks
  // that have left since the lowest one of `half_full_`.
  std::uint64_t turn_ = 0;
  std::uint64_t half_full_turn_ = 0;
  std::uint32_t round_ = 0;
  std::vector<std::uint32_t> complete_;
};

// Gives a taken chunk's memory back.
void free_chunk(BlockPool& pool, std::uint32_t id);

}  // namespace millrace::agent
