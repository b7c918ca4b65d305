// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/virtual/station.hpp"

#include <algorithm>
#include <functional>

namespace millrace::io {

Station::Station(const Timeline& timeline, const StationOptions& options)
    : timeline_(timeline), options_(options), free_ns_(std::max(1U, options.slots), 0) {}

std::uint64_t Station::serve(std::uint64_t bytes, std::uint64_t extra_ns) {
  const std::uint64_t now = timeline_.now_ns();
  while (!starts_.empty() && starts_.front() <= now) starts_.pop_front();
  std::uint64_t work = options_.piece_ns + extra_ns + options_.waiting_ns * starts_.size();
  if (options_.bytes_per_second > 0 && bytes > 0) work += duration_ns(bytes, options_.bytes_per_second);
  std::ranges::pop_heap(free_ns_, std::greater<>());
  const std::uint64_t start = std::max(now, free_ns_.back());
  free_ns_.back() = start + work;
  std::ranges::push_heap(free_ns_, std::greater<>());
  // Starts never decrease, so the deque is sorted.
  if (start > now) starts_.push_back(start);
  busy_ns_ += work;
  bytes_ += bytes;
  return start + work;
}

}  // namespace millrace::io
