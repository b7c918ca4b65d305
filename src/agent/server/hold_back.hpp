// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::agent {

// If ranks outnumber processors, one rank can be a whole buffer ahead of another before the other gets its
// turn. No chunk of an interleaved file is complete until then. When much memory waits for its neighbours,
// the agent therefore takes nothing until all rings are full. Ranks that wait for room leave the processors
// to ranks that lag. The wait is bounded and short, and stops if no rank uses the time. Not thread safe.
class HoldBack {
 public:
  // While it lasts, the agent looks at the rings this often.
  static constexpr std::uint64_t look_ns = 100'000;
  static constexpr std::uint64_t unused_ns = 6'000'000;
  static constexpr std::uint64_t longest_ns = 30'000'000;
  static_assert(look_ns < unused_ns && unused_ns < longest_ns);

  // True if the number of `partial` blocks justifies a wait. Only then, now() is called.
  bool worth_it(std::uint64_t partial, std::uint64_t many) {
    if (partial < many) at_ = many;
    if (partial < at_) holding_ = false;
    return partial > 0 && partial >= at_;
  }
  // True: the agent takes no records now. `fill`: bytes in all rings. `all_wait`: every rank waits for the
  // agent. `next_at`: the number of partial blocks that justifies the next wait.
  bool now(std::uint64_t now_ns, std::uint64_t next_at, std::uint64_t fill, bool all_wait) {
    if (!holding_) since_ns_ = now_ns;
    if (!holding_ || fill != fill_) moved_ns_ = now_ns;
    fill_ = fill;
    holding_ = !all_wait && now_ns - since_ns_ < longest_ns && now_ns - moved_ns_ < unused_ns;
    if (!holding_) at_ = next_at;
    return holding_;
  }
  void stop() { holding_ = false; }

 private:
  bool holding_ = false;
  std::uint64_t at_ = 0;  // the number of partial blocks that justifies a wait
  std::uint64_t since_ns_ = 0;
  std::uint64_t moved_ns_ = 0;  // the last time at which fill_ had changed
  std::uint64_t fill_ = 0;
};

}  // namespace millrace::agent
