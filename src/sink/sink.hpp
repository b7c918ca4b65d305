// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "sink/meter.hpp"

namespace millrace::sink {

// `length` bytes at `data` that belong at `offset` of the file.
struct Segment {
  std::uint64_t offset = 0;
  const std::byte* data = nullptr;
  std::uint64_t length = 0;
};

using Ticket = std::uint64_t;  // names one put() or sync(); never 0

struct Done {
  Ticket ticket = 0;
  Status status;
};

struct SinkOptions {
  std::uint64_t write_max_bytes = 4 * MiB;       // a power of two; writes are cut at its multiples
  std::uint64_t writeback_step_bytes = 2 * MiB;  // 0 = leave writeback to the kernel
  std::uint64_t datasync_interval_bytes = 0;     // datasync after so many bytes; 0 = only when asked to
  std::uint64_t direct_min_bytes = 64 * KiB;     // smaller aligned parts stay buffered
  std::uint64_t metered_min_bytes = 256 * KiB;   // smaller writes say little of a disk
  std::uint64_t gather_below_bytes = 64 * KiB;   // smaller segments that lie apart share a request; 0 = none
  std::uint32_t depth = 8;                       // writes in flight
  bool direct = false;                           // aligned parts past the page cache
  Meter* meter = nullptr;                        // ... where it says so; outlives the sink
};

struct SinkCounters {
  std::uint64_t segments = 0;      // taken in by put()
  std::uint64_t bytes = 0;         // of completed, successful writes
  std::uint64_t direct_bytes = 0;  // ... of these, on the direct handle
  std::uint64_t writes = 0;        // contiguous ones
  std::uint64_t seeks = 0;         // writes that did not start where the last one ended
  std::uint64_t writebacks = 0;
  std::uint64_t datasyncs = 0;
};

// Drains ordered segments into one file, with as few and as large writes as their order allows.
//
//   put:   | a | b | c |     | d | e ...        file-adjacent segments in the order of put()
//   write: |  one write  |   | one write        at most write_max_bytes, cut at its multiples
//
// A write starts when it is full, when the next segment is not adjacent, or at flush(). Small segments that
// lie apart, in ascending order, are gathered in one request with gaps (buffered only). Writes overlap in
// time. But a write that shares bytes with an earlier one waits for it, also if they share a 4 KiB block and
// one of the two is direct. So the file has the bytes that were put last.
//
// Memory of segments must stay valid and unchanged until the ticket of their put() is in take().
//
// Several sinks share one Storage: the caller polls it and hands each completion to the sink whose owner
// number is in the token. A deterministic state machine; no clock, no thread; not thread safe.
//
//   sink->put(batch); ... sink->flush();            // end of a round
//   storage.kick(); storage.poll(completions);      // the caller, for all sinks
//   for (c : completions) sinks[owner_of(c.token)]->complete(c);
//   sink->take(done);                               // memory of these tickets is free again
class Sink {
 public:
  // Takes the target, open for writing. `owner` is unique among all users of this Storage.
  static Result<std::unique_ptr<Sink>> open(io::Storage& storage, Fd target, std::uint32_t owner,
                                            const SinkOptions& options);
  // Must be idle.
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // Takes a batch, in order; an empty one completes at once. Never blocks and never refuses. The caller
  // bounds the bytes of open tickets, or looks at backlog().
  Ticket put(std::span<const Segment> batch);
  // Starts the last, partly filled write too.
  void flush();
  // flush(), and a datasync after everything put or noted before it has completed. Its status covers the
  // sync and every write so far: it is the sticky one.
  Ticket sync();
  // Another process wrote this extent to the file. It counts for writeback, not for writes.
  void note(Extent written);

  // A completion whose token has this sink's owner number.
  void complete(const io::Completion& completion);
  // Appends what is done since the last call.
  void take(std::vector<Done>& done);

  // The first error of this file; later writes are still tried.
  Status status() const;
  // Writes that wait for a free place among `depth`. Zero = more would start at once.
  std::size_t backlog() const;
  // True if no request is held back or in flight (writebacks included), and take() has nothing.
  bool idle() const;
  const SinkCounters& counters() const;
  // False if direct was asked for and refused.
  bool direct() const;

 private:
  struct Impl;
  explicit Sink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Tokens of a sink (and of a journal writer) carry their owner's number in the upper half.
constexpr std::uint32_t owner_of(std::uint64_t token) { return static_cast<std::uint32_t>(token >> 32); }

}  // namespace millrace::sink
