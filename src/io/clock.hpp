// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace millrace::io {

// The interface to the machine's clock, which is monotonic and has any start. Implementations:
// transport/tcp_net.hpp (the system's clock), virtual/timeline.hpp (virtual time).
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t now_ns() const = 0;
};

// The machine's other clock, which is set: since 1970. Files have their times from it.
inline std::uint64_t wall_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

}  // namespace millrace::io
