// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/arrivals.hpp"

#include <algorithm>
#include <cstring>

namespace millrace::agent {

std::size_t Arrivals::add(std::uint64_t offset, std::span<const std::byte> data) {
  if (block_ == LazyPool::none) block_ = pool_.blocks.allocate();
  std::byte* place = pool_.data(block_) + used_;
  const std::size_t size = std::min<std::size_t>(data.size(), pool_.block_bytes() - used_);
  std::memcpy(place, data.data(), size);
  used_ += static_cast<std::uint32_t>(size);
  sink::Segment* last = segments_.empty() ? nullptr : &segments_.back();
  if (last != nullptr && last->offset + last->length == offset) {
    last->length += size;
  } else {
    segments_.push_back({offset, place, size});
  }
  hull_ = millrace::hull(hull_, {offset, offset + size});
  return size;
}

void Arrivals::let_go() {
  block_ = LazyPool::none;
  used_ = 0;
  hull_ = {};
  segments_.clear();
}

}  // namespace millrace::agent
