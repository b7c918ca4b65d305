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

// The way to the next agent, for one file. Records arrive there in the order of the calls, as if a rank of
// that node had sent them. Implemented over a link by Server, in memory by tests. Not thread safe.
class Carrier {
 public:
  struct Answer {
    std::uint32_t request;
    Status status;
  };
  // A fetch brings bytes of the file at `offset`. The last item has no bytes; the answer follows it.
  struct Data {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes;
    std::uint64_t file_bytes = 0;  // with the last: the size of the file
  };

  // The next bytes of the data of a want.
  struct Wanted {
    std::uint32_t request = 0;
    std::vector<std::byte> bytes;
  };

  virtual ~Carrier() = default;

  // False: write() has to wait; advance() of the agent is called again when there is room.
  virtual bool has_room() const = 0;
  // One record of at most record_max bytes. Copies.
  virtual void write(std::uint64_t offset, std::span<const std::byte> data) = 0;
  // All writes from here to the next sync or close lie at or above `offset`, as far as this agent knows.
  virtual void mark(std::uint64_t offset) = 0;
  // flush, arrive, sync, close or fetch; `request` is not 0. One fetch at a time, of at most fetch_max_bytes.
  virtual void request(transport::Kind kind, std::uint32_t request, Extent extent) = 0;
  // Asks for the bytes of a list (transport/want_list.hpp), behind all earlier writes. Several at a time.
  virtual void want(std::uint32_t request, std::span<const std::byte> list) = 0;
  // Sends all records given so far.
  virtual void flush() = 0;
  // Appends the answers that have come.
  virtual void take_answers(std::vector<Answer>& answers) = 0;
  // The next data of a fetch, all of it before the answer; false: none now. Data that is not taken waits, and
  // so does the other end.
  virtual bool take_data(Data& data) = 0;
  // The next bytes of some want, in the order of its list, all of them before the answer; false: none now.
  virtual bool take_wanted(Wanted& wanted) = 0;
  // Not ok: the other end is lost, and no answer will come.
  virtual Status status() const = 0;
};

// The part of a file's offsets that one file server takes: stripe i is in lane i modulo the number of lanes.
struct LaneRoute {
  std::unique_ptr<Carrier> next;  // towards the lane's file server; nullptr: this agent is that
  std::uint32_t upstreams = 0;    // agents that pass their records of this lane on to this one
  bool keeps = false;             // the file here is a copy, whether or not there is a next agent
  std::uint64_t device = 0;       // the file's
};

// How a file's records travel between nodes. No lanes: the file is open on this node only.
struct Route {
  std::uint64_t stripe_bytes = 0;  // a power of two, at least 1 MiB; of no meaning with one lane
  bool stands_in = false;  // only the file server has the file; one lane, and what others read is fetched
  std::vector<LaneRoute> lanes;
};

}  // namespace millrace::agent
