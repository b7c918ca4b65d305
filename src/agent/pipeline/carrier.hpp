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

// The way to the next agent, for one lane of a file. Records arrive there in the order of the calls, as if a
// rank of that node had sent them. links/downstream implements it over a link, tests in memory. Not thread
// safe.
class Carrier {
 public:
  struct Answer {
    std::uint32_t request;
    Status status;
  };
  // The next bytes of the data of a want.
  struct Wanted {
    std::uint32_t request = 0;
    std::vector<std::byte> bytes;
  };

  virtual ~Carrier() = default;

  // False: write() and mark() have to wait. The agent's loop calls advance() when there is room.
  virtual bool has_room() const = 0;
  // One record of at most record_max bytes. Copies.
  virtual void write(std::uint64_t offset, std::span<const std::byte> data) = 0;
  // A hint: all writes from here to the next sync or close lie at or above `offset`.
  virtual void mark(std::uint64_t offset) = 0;
  // flush, arrive, sync or close; `request` is not 0.
  virtual void request(transport::Kind kind, std::uint32_t request, Extent extent) = 0;
  // Asks for the bytes of a list (transport/want_list.hpp), behind all earlier writes. Several at a time.
  virtual void want(std::uint32_t request, std::span<const std::byte> list) = 0;
  // Sends all records given so far.
  virtual void flush() = 0;
  // Appends the answers since the last call.
  virtual void take_answers(std::vector<Answer>& answers) = 0;
  // The next bytes of some want, in the order of its list, all of them before the answer; false: none now.
  // While bytes are not taken, the other end waits.
  virtual bool take_wanted(Wanted& wanted) = 0;
  // Not ok: the other end is lost, and no answer will come.
  virtual Status status() const = 0;
};

// The part of a file's offsets that one file server takes: stripe i is in lane i modulo the number of lanes.
struct LaneRoute {
  std::unique_ptr<Carrier> next;  // towards the lane's file server; nullptr: this agent is the last one
  std::uint32_t upstreams = 0;    // number of agents that pass their records of this lane on to this one
  bool keeps = false;             // this agent writes a copy of the file, with or without a next agent
  std::uint64_t device = 0;       // of the file
};

// How a file's records travel between nodes. No lanes: the file is open on this node only.
struct Route {
  std::uint64_t stripe_bytes = 0;  // a power of two, at least the size of a chunk; unused with one lane
  std::vector<LaneRoute> lanes;
};

}  // namespace millrace::agent
