// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "agent/pipeline/carrier.hpp"
#include "base/result.hpp"
#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "sink/sink.hpp"

namespace millrace::agent {

// The number of a request to the next agent: the last 32 bits of its ticket, which are not 0.
constexpr std::uint32_t request_of(sink::Ticket ticket) { return static_cast<std::uint32_t>(ticket); }

// The destination of a pipeline's bytes: the target file, or the next agent on the way to the file server. A
// deterministic state machine, as the sink is; tickets and the life of segments are those of sink::Sink.
class Outlet {
 public:
  virtual ~Outlet() = default;

  virtual sink::Ticket put(std::span<const sink::Segment> batch) = 0;
  // The end of a round of put(): nothing is held back for what might follow.
  virtual void flush() = 0;
  // All puts from here to the next settle() of sync or close lie at or above `offset`, as far as this agent
  // knows. The outlet tells the next agent, if there is one.
  virtual void mark(std::uint64_t offset) = 0;
  // All earlier puts have arrived as safely as `kind` says. flush: in the file system. sync: on the disk too.
  // close: as the file's durability says, and no rank of this node has the file open any more. fetch: like
  // flush, and the bytes of `extent` come back. The target's own outlet knows only sync, because its finished
  // puts are in the file system.
  virtual sink::Ticket settle(transport::Kind kind, Extent extent) = 0;
  // The next agent sends the bytes of a list (transport/want_list.hpp), behind all earlier puts. Only where
  // the outlet is the next agent alone. The answer is told as that of a fetch.
  virtual sink::Ticket want([[maybe_unused]] std::vector<std::byte> list) { return 0; }
  // Somebody else wrote this extent to the file.
  virtual void note(Extent written) = 0;

  virtual void complete(const io::Completion& completion) = 0;
  // Goes on with what waits for room. True if anything moved.
  virtual bool advance() = 0;
  virtual void take(std::vector<sink::Done>& done) = 0;
  // The next data of a settle() of kind fetch, from the next agent.
  virtual bool take_data(Carrier::Data& data) = 0;
  // The next bytes of the want() whose ticket ends with `request`.
  struct Wanted {
    std::uint32_t request = 0;
    std::vector<std::byte> bytes;
  };
  virtual bool take_wanted([[maybe_unused]] Wanted& wanted) { return false; }

  // Records without an answer from the other agent count as lost.
  virtual void give_up() = 0;

  virtual Status status() const = 0;
  virtual bool idle() const = 0;
  // True: finished records are only passed on. They are in the file after a settle().
  virtual bool carries() const = 0;
  virtual bool direct() const = 0;
  virtual const sink::SinkCounters& counters() const = 0;
};

std::unique_ptr<Outlet> make_outlet(std::unique_ptr<sink::Sink> sink);
// Records on the wire have at most record_max_bytes.
std::unique_ptr<Outlet> make_outlet(std::unique_ptr<Carrier> carrier, std::uint64_t record_max_bytes);
// Both of them: bytes are done with when the file here has them and they have been passed on.
std::unique_ptr<Outlet> make_tee(std::unique_ptr<Outlet> file, std::unique_ptr<Outlet> next);

}  // namespace millrace::agent
