// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "sink/meter.hpp"

#include <algorithm>

namespace millrace::sink {

namespace {

// The meter halves its sums of a way beyond this many bytes, so that recent costs weigh more than old ones.
constexpr std::uint64_t memory_bytes = 64 * MiB;

}  // namespace

bool Meter::takes_direct(std::uint64_t bytes) {
  if (refused_) return false;
  if (synced_ && trial_left_ == 0 && until_trial_ == 0 && ways_[better_].bytes != 0) {
    tried_ = 1 - better_;
    ways_[tried_].bytes = ways_[tried_].ns = 0;  // old times no longer tell the cost
    trial_left_ = trial_bytes;
    until_trial_ = again_after_bytes;
  }
  const std::size_t way = trial_left_ != 0 ? tried_ : better_;
  std::uint64_t& left = trial_left_ != 0 ? trial_left_ : until_trial_;
  left -= std::min(left, bytes);
  return way == 1;
}

void Meter::took(bool direct, std::uint64_t bytes, std::uint64_t begin_ns, std::uint64_t end_ns) {
  WayTimes& way = ways_[direct ? 1 : 0];
  if (end_ns <= begin_ns) return;
  const std::uint64_t from = std::max(begin_ns, way.last_end_ns);
  way.bytes += bytes;
  if (end_ns > from) {
    way.ns += end_ns - from;
    way.last_end_ns = end_ns;
  }
  if (way.bytes > memory_bytes) {
    way.bytes /= 2;
    way.ns /= 2;
  }
  const auto& [cached, past] = ways_;
  if (std::min(cached.bytes, past.bytes) < trial_bytes / 2) return;
  const auto cost = [](const WayTimes& one, const WayTimes& other) {
    return static_cast<__uint128_t>(one.ns) * other.bytes;
  };
  better_ = cost(past, cached) < cost(cached, past) ? 1 : 0;
}

}  // namespace millrace::sink
