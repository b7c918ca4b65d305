// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace millrace::agent {

// A connected rank or an agent upstream. An index: numbers are small and used again.
using SenderId = std::uint32_t;

// The activity of a sender, for Gathering.
struct Sender {
  std::uint64_t last_ns = 0;  // time of the last advance() after records of it
  bool spoke = false;         // records or marks have come since that advance()
  bool upstream = false;      // an agent
  std::uint32_t lane = 0;     // the lane that this agent feeds
};

// The answer to a flush, arrive, sync, close or want.
struct Reply {
  SenderId sender;
  std::uint32_t request;
  Status status;
};

// Takes the bytes that senders have asked for. `request` is the number of their want.
class ReadTaker {
 public:
  virtual ~ReadTaker() = default;
  virtual bool has_room(SenderId sender) const = 0;
  // Bytes of the data of a want, at their position in it. Each list gets its bytes in ascending order.
  virtual void wanted(SenderId sender, std::uint32_t request, std::uint32_t position,
                      std::span<const std::byte> bytes) = 0;
};

}  // namespace millrace::agent
