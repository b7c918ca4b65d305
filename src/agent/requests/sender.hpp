// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace millrace::agent {

// One connected rank, or an agent upstream. Small numbers, used again: an index.
using SenderId = std::uint32_t;

// Counts the deliveries of a sender, once per advance(), for the wait for stragglers.
struct Sender {
  std::uint64_t last_ns = 0;  // when records of it were last seen
  bool spoke = false;         // records have come since
  bool upstream = false;      // an agent
  std::uint32_t lane = 0;     // ... that feeds this one
};

// The answer to a flush, arrive, sync, close or fetch.
struct Reply {
  SenderId sender;
  std::uint32_t request;
  Status status;
};

// Takes bytes for the senders that have asked for them. `request` is that of their fetch or want.
class FetchTaker {
 public:
  virtual ~FetchTaker() = default;
  virtual bool has_room(SenderId sender) const = 0;
  virtual void data(SenderId sender, std::uint32_t request, std::uint64_t offset,
                    std::span<const std::byte> bytes) = 0;
  // All of them have been given; the answer follows.
  virtual void end_of_data(SenderId sender, std::uint32_t request, std::uint64_t file_bytes) = 0;
  // Bytes of the data of a want, at their position in it. Each list gets its bytes in ascending order.
  virtual void wanted(SenderId sender, std::uint32_t request, std::uint32_t position,
                      std::span<const std::byte> bytes) = 0;
};

}  // namespace millrace::agent
