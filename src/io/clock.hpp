// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::io {

// The interface to the machine's clock, which is monotonic and has any start. Implementations:
// transport/tcp_net.hpp (the system's clock), virtual/timeline.hpp (virtual time).
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t now_ns() const = 0;
};

}  // namespace millrace::io
