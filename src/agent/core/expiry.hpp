// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/settings.hpp"

namespace millrace::agent {

// The longest time of a byte in its rank's ring, between two looks of the agent, and again in the agent's
// buffer. The setting write_within bounds the whole way of the byte into the file, and the agents on the
// longest way of the topology share that time.
//
//   write returns        agent takes the record             bytes leave
//        |------ ring: half ------|------- buffer: half --------|
//
constexpr std::uint64_t hold_bound_ns(std::uint64_t write_within_ns, std::uint32_t nodes, Topology topology) {
  const std::uint32_t agents = nodes <= 1                     ? 1
                               : topology == Topology::direct ? 2
                               : topology == Topology::tree
                                   ? static_cast<std::uint32_t>(std::bit_width(nodes))
                                   : nodes;
  return write_within_ns / agents / 2;
}

// Watches how long bytes stay in the buffer of one lane. Not thread safe.
class Expiry {
 public:
  // Called once per advance(). True: bytes have been in the buffer for too long and have to leave now. The
  // bound counts from `swept_ns`, the last progress of a sweep, if that is later: the sweep takes the bytes
  // along.
  bool due(bool holds, std::uint64_t now_ns, std::uint64_t bound_ns, std::uint64_t swept_ns = 0) {
    if (!holds) deadline_ns_ = UINT64_MAX;
    if (!holds) return false;
    if (deadline_ns_ == UINT64_MAX) deadline_ns_ = now_ns + bound_ns;
    if (swept_ns > 0) deadline_ns_ = std::max(deadline_ns_, swept_ns + bound_ns);
    const bool due = now_ns >= deadline_ns_;
    if (due) deadline_ns_ = now_ns + bound_ns;
    return due;
  }
  // The time for the next call of due(), even if nothing happens; UINT64_MAX: never.
  std::uint64_t next_deadline_ns() const { return deadline_ns_; }

 private:
  std::uint64_t deadline_ns_ = UINT64_MAX;  // UINT64_MAX: the buffer is empty
};

}  // namespace millrace::agent
