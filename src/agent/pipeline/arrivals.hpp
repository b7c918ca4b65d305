// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "agent/pipeline/block_pool.hpp"
#include "extent/extent.hpp"
#include "sink/sink.hpp"

namespace millrace::agent {

// Strategy immediate: a block with records in the order of their arrival. The block departs as a whole. Owns
// the block until let_go(). Not thread safe.
class Arrivals {
 public:
  explicit Arrivals(BlockPool& pool) : pool_(pool) {}

  // Copies as many bytes of a record as fit, and returns their number. Must not be full().
  std::size_t add(std::uint64_t offset, std::span<const std::byte> data) {
    if (block_ == LazyPool::none) block_ = pool_.blocks.allocate();
    std::byte* place = pool_.data(block_) + used_;
    const std::size_t size = std::min<std::size_t>(data.size(), pool_.block_bytes() - used_);
    std::memcpy(place, data.data(), size);
    used_ += static_cast<std::uint32_t>(size);
    sink::SinkSegment* last = segments_.empty() ? nullptr : &segments_.back();
    if (last != nullptr && last->offset + last->length == offset) {
      last->length += size;
    } else {
      segments_.push_back({offset, place, size});
    }
    hull_ = millrace::hull(hull_, {offset, offset + size});
    return size;
  }
  bool full() const { return used_ == pool_.block_bytes() || segments_.size() >= segments_max; }
  bool empty() const { return segments_.empty(); }
  std::uint32_t blocks() const { return block_ != LazyPool::none ? 1 : 0; }
  std::uint64_t bytes() const { return used_; }

  std::uint32_t block() const { return block_; }
  Extent hull() const { return hull_; }
  std::span<const sink::SinkSegment> segments() const { return segments_; }
  // The block belongs to the caller now. The next record begins another one.
  void let_go() {
    block_ = LazyPool::none;
    used_ = 0;
    hull_ = {};
    segments_.clear();
  }

 private:
  static constexpr std::size_t segments_max = 4096;  // of one put

  BlockPool& pool_;
  std::uint32_t block_ = LazyPool::none;
  std::uint32_t used_ = 0;
  Extent hull_;
  std::vector<sink::SinkSegment> segments_;
};

}  // namespace millrace::agent
