// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "extent/extent.hpp"

namespace millrace::sink {

// Collects written extents, and finds contiguous ranges that have grown to a step and may go to the disk
// early. Its memory is bounded: with too many scattered ranges, it forgets the lowest range, and the kernel
// writes that range back at its own time.
class Writeback {
 public:
  explicit Writeback(std::uint64_t step_bytes) : step_bytes_(step_bytes) {}

  // Adds a written extent. If its range reaches the step, removes the whole range and returns it.
  std::optional<Extent> written(Extent extent);

  std::size_t ranges() const { return ranges_.size(); }
  static constexpr std::size_t max_ranges = 4096;

 private:
  std::uint64_t step_bytes_;                       // 0 = never
  std::map<std::uint64_t, std::uint64_t> ranges_;  // begin -> end; disjoint, not adjacent
};

}  // namespace millrace::sink
