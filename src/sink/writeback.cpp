// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "sink/writeback.hpp"

#include <iterator>

namespace millrace::sink {

std::optional<Extent> Writeback::written(Extent extent) {
  if (step_bytes_ == 0 || extent.empty()) return std::nullopt;
  auto next = ranges_.upper_bound(extent.begin);
  if (next != ranges_.begin() && std::prev(next)->second >= extent.begin) --next;
  while (next != ranges_.end() && next->first <= extent.end) {
    extent = hull(extent, {next->first, next->second});
    next = ranges_.erase(next);
  }
  if (extent.size() >= step_bytes_) return extent;
  ranges_.emplace_hint(next, extent.begin, extent.end);
  if (ranges_.size() > max_ranges) ranges_.erase(ranges_.begin());
  return std::nullopt;
}

}  // namespace millrace::sink
