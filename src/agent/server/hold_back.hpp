// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/settings.hpp"

namespace millrace::agent {

// If ranks outnumber processors, one rank can be a whole buffer ahead of another before the other gets its
// turn. No chunk of an interleaved file is complete until then. When much memory waits for its neighbours,
// the agent therefore takes nothing until all rings are full. Ranks that wait for room leave the processors
// to ranks that lag. The wait is bounded and short, and stops if no rank uses the time. Not thread safe.
class HoldBack {
 public:
  // Whether `partial_bytes` are enough for a wait: otherwise the agent does not ask now().
  bool worth_it(std::uint64_t partial_bytes) {
    if (partial_bytes < step_bytes) at_bytes_ = step_bytes;
    if (partial_bytes < at_bytes_) holding_ = false;
    return partial_bytes >= at_bytes_;
  }
  // True: the agent takes nothing now. `fill`: of all rings; `all_wait`: every rank waits for the agent.
  bool now(std::uint64_t now_ns, std::uint64_t partial_bytes, std::uint64_t fill, bool all_wait) {
    if (!holding_) since_ns_ = now_ns;
    if (!holding_ || fill != fill_) moved_ns_ = now_ns;
    fill_ = fill;
    holding_ = !all_wait && now_ns - since_ns_ < longest_ns && now_ns - moved_ns_ < unused_ns;
    if (!holding_) at_bytes_ = partial_bytes + step_bytes;
    return holding_;
  }
  void stop() { holding_ = false; }

 private:
  static constexpr std::uint64_t step_bytes = 48 * MiB;
  static constexpr std::uint64_t longest_ns = 30'000'000;
  static constexpr std::uint64_t unused_ns = 6'000'000;

  bool holding_ = false;
  std::uint64_t at_bytes_ = 0;  // partial bytes from which on to hold back
  std::uint64_t since_ns_ = 0;
  std::uint64_t moved_ns_ = 0;  // when fill_ was last seen to change
  std::uint64_t fill_ = 0;
};

}  // namespace millrace::agent
