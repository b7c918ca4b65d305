// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::io {

// The seam to the machine's clock: monotonic, from any start. Implementations: transport/tcp_net.hpp (the
// system's), virtual/timeline.hpp (time that moves from event to event).
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::uint64_t now_ns() const = 0;
};

}  // namespace millrace::io
