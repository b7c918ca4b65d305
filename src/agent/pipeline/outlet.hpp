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
// deterministic state machine. Tickets and the life of segments are those of sink::Sink. The functions with a
// body here need the target file or a next agent; an outlet without it has nothing to do.
class Outlet {
 public:
  virtual ~Outlet() = default;

  virtual sink::Ticket put(std::span<const sink::SinkSegment> batch) = 0;
  // The end of a round of put(): the outlet holds nothing back for later puts.
  virtual void flush() = 0;
  // A hint for the next agent: all puts from here to the next settle() of sync or close lie at or above
  // `offset`.
  virtual void mark([[maybe_unused]] std::uint64_t offset) {}
  // The ticket is done when all earlier puts are as safe as `kind` says.
  //
  // - flush: in the file system. arrive: with the file server, before all later records.
  // - sync: on the disk too. close: as the file's durability says, and this node has the file open no more.
  //   The target's own outlet also tells what close(2) tells, and syncs with `on_disk` only.
  //
  // The target's own outlet treats every other kind as sync, because its finished puts are in the file
  // system.
  virtual sink::Ticket settle(transport::Kind kind, Extent extent, bool on_disk) = 0;
  // The next agent sends the bytes of a list (transport/want_list.hpp), behind all earlier puts. Only where
  // the outlet is the next agent alone.
  virtual sink::Ticket want([[maybe_unused]] std::span<const std::byte> list) { return 0; }
  // A rank wrote this extent to the file, past the pipeline. Only this node can start writeback of these
  // bytes, because it has them in its page cache.
  virtual void note([[maybe_unused]] Extent written) {}

  virtual void complete([[maybe_unused]] const io::Completion& completion) {}
  // Goes on with work that waits for room. True if anything moved.
  virtual bool advance() { return false; }
  virtual void take(std::vector<sink::Done>& done) = 0;
  // The next bytes of the want() whose ticket ends with `request`.
  virtual bool take_wanted([[maybe_unused]] Carrier::Wanted& wanted) { return false; }

  // The way to the next agent ends. Requests without an answer from it fail with Code::lost_peer, and so do
  // all later ones.
  virtual void give_up() {}

  virtual Status status() const = 0;
  virtual bool idle() const = 0;
  // True: a finished put has only been passed on. It is in the file after a settle().
  virtual bool carries() const = 0;
  virtual bool direct() const { return false; }
  virtual const sink::SinkCounters& counters() const = 0;
};

std::unique_ptr<Outlet> make_outlet(std::unique_ptr<sink::Sink> sink);
// Records on the wire have at most record_max_bytes.
std::unique_ptr<Outlet> make_outlet(std::unique_ptr<Carrier> carrier, std::uint64_t record_max_bytes);
// A put is done when the file here has its bytes and they have been passed on.
std::unique_ptr<Outlet> make_tee(std::unique_ptr<Outlet> file, std::unique_ptr<Outlet> next);

}  // namespace millrace::agent
