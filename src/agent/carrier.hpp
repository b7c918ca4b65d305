// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "extent/extent.hpp"
#include "transport/frame.hpp"

namespace millrace::agent {

// The way to the next agent, for one file: what is given arrives there in this order, as if a rank of that
// node had sent it. Implemented over a link by Server, in memory by tests. Not thread safe.
class Carrier {
 public:
  struct Answer {
    std::uint32_t request;
    Status status;
  };

  virtual ~Carrier() = default;

  // False: write() has to wait; advance() of the agent is called again when there is room.
  virtual bool has_room() const = 0;
  // One record of at most record_max bytes. Copies.
  virtual void write(std::uint64_t offset, std::span<const std::byte> data) = 0;
  // flush, arrive, sync or close; `request` is not 0.
  virtual void request(transport::Kind kind, std::uint32_t request, Extent extent) = 0;
  // What was given so far sets out now.
  virtual void flush() = 0;
  // Appends the answers that have come.
  virtual void take_answers(std::vector<Answer>& answers) = 0;
  // Not ok: the other end is lost, and no answer will come.
  virtual Status status() const = 0;
};

// The part of a file's offsets that one file server takes: stripe i is in lane i modulo the number of lanes.
struct LaneRoute {
  std::unique_ptr<Carrier> next;  // towards the lane's file server; nullptr: this agent is that
  std::uint32_t upstreams = 0;    // agents that pass their records of this lane on to this one
  bool keeps = false;             // the file here is a copy, whether or not there is a next agent
};

// How a file's records travel between nodes. No lanes: it is open on this node only.
struct Route {
  std::uint64_t stripe_bytes = 0;  // a power of two, at least 1 MiB; of no meaning with one lane
  std::vector<LaneRoute> lanes;
};

}  // namespace millrace::agent
