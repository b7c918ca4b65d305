// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/budget.hpp"

#include <algorithm>

namespace millrace::agent {

namespace {

constexpr std::uint32_t share_max_blocks = 64;

// True if at most an eighth of them is free.
bool short_of(std::uint32_t free, std::uint32_t all) { return free <= std::max(2U, all / 8); }

}  // namespace

void Budget::resize(Supply all, std::uint32_t spans, std::uint32_t slots, std::uint32_t window) {
  all_ = all;
  spans_ = spans;
  slots_ = slots;
  window_ = window;
}

bool Budget::recount(std::span<const LaneNeeds> lanes) {
  reserved_ = landing_ = share_ = 0;
  std::uint32_t fed = 0;
  for (const LaneNeeds& lane : lanes) {
    reserved_ += lane.due;
    if (lane.lands) landing_ = slots_;
    fed += lane.fed ? 1 : 0;
  }
  if (fed == 0) return true;
  const std::uint32_t usable = std::min({all_.blocks, all_.fine_maps, all_.chunks});
  const std::uint32_t least = 2 * spans_;
  share_ = std::max(least, std::min(share_max_blocks, usable / (4 * fed)));
  for (const LaneNeeds& lane : lanes) {
    if (lane.fed && lane.in_use < share_) reserved_ += share_ - lane.in_use;
  }
  return std::uint64_t{fed} * least <= usable / 2;
}

bool Budget::wants_departures(Supply free) const {
  if (free.blocks + leaving_ < window_ + reserved_) return true;
  return leaving_ < window_ &&
         (short_of(free.fine_maps, all_.fine_maps) || free.chunks <= window_ / 8 || !grants_rank(free));
}

}  // namespace millrace::agent
