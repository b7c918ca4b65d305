// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::agent {

// Any process on the node or the network may connect to an agent, at any rate. The doorkeeper bounds the time
// that the agent spends on strangers. After `most` of them in one window, the agent ignores the listener
// until the window ends. Connections in the listener's queue lose nothing meanwhile.
class Doorkeeper {
 public:
  static constexpr std::uint64_t window_ns = 20'000'000;
  static constexpr std::uint32_t most = 100;  // 5,000 a second: about 3 % of a processor

  bool open(std::uint64_t now_ns) {
    if (now_ns >= window_end_ns_) {
      window_end_ns_ = now_ns + window_ns;
      strangers_ = 0;
    }
    return strangers_ < most;
  }
  void let_in() { ++strangers_; }
  // A connection that was let in has proved to be no stranger.
  void knows_one() { strangers_ -= strangers_ > 0 ? 1 : 0; }
  // The agent cannot accept a connection now. The door stays shut for one window.
  void shut(std::uint64_t now_ns) {
    strangers_ = most;
    window_end_ns_ = now_ns + window_ns;
  }
  // The time at which the door opens; UINT64_MAX: it is open.
  std::uint64_t opens_ns() const { return strangers_ < most ? UINT64_MAX : window_end_ns_; }

 private:
  std::uint64_t window_end_ns_ = 0;
  std::uint32_t strangers_ = 0;  // in this window
};

}  // namespace millrace::agent
