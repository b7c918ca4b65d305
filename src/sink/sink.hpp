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
#include "sink/tickets.hpp"

namespace millrace::sink {

// `length` bytes at `data`, for `offset` of the file.
struct SinkSegment {
  std::uint64_t offset = 0;
  const std::byte* data = nullptr;
  std::uint64_t length = 0;
};

struct SinkOptions {
  std::uint64_t write_max_bytes = 4 * MiB;       // a power of two; writes are cut at its multiples
  std::uint64_t writeback_step_bytes = 2 * MiB;  // 0 = leave writeback to the kernel
  std::uint64_t datasync_interval_bytes = 0;     // datasync after so many bytes; 0 = only for sync()
  std::uint64_t direct_min_bytes = 64 * KiB;     // smaller aligned parts stay buffered
  std::uint64_t metered_min_bytes =
      256 * KiB;  // the meter ignores smaller writes: they say little about a disk
  std::uint64_t gather_below_bytes = 64 * KiB;  // smaller, separate segments share a request; 0 = none do
  std::uint32_t depth = 8;                      // writes in flight
  bool direct = false;                          // all aligned parts go past the page cache
  Meter* meter = nullptr;                       // otherwise, decides which parts do; outlives the sink
};

struct SinkCounters {
  std::uint64_t segments = 0;      // segments of put()
  std::uint64_t bytes = 0;         // bytes of successful writes
  std::uint64_t direct_bytes = 0;  // those of `bytes` that the direct handle wrote
  std::uint64_t writes = 0;        // contiguous writes
  std::uint64_t seeks = 0;         // writes that did not start at the end of the previous write
  std::uint64_t writebacks = 0;
  std::uint64_t datasyncs = 0;
  std::uint64_t completions = 0;  // of all requests
};

// Drains ordered segments into one file, with as few and as large writes as their order allows.
//
//   put:   | a | b | c |     | d | e ...        file-adjacent segments in the order of put()
//   write: |  one write  |   | one write        at most write_max_bytes, cut at its multiples
//
// A write starts when it is full, when the next segment is not adjacent, or at flush(). Small segments in
// ascending order share one request with gaps, if they are buffered. Writes overlap in time. But a write
// waits for an earlier one if both share bytes, or if they share a 4 KiB block and one of them is direct. So
// the file gets the bytes of the last put().
//
// The memory of segments must stay valid and unchanged until take() returns the ticket of their put().
//
// Several sinks share one Storage. The caller polls it, and passes each completion to the sink whose owner
// number is in the token. The sink is a deterministic state machine: it reads no clock and starts no thread.
// Not thread safe.
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
  // The sink must be idle.
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // Takes a batch, in order. An empty batch completes at once. put() never blocks and never refuses. So the
  // caller bounds the bytes of open tickets, or looks at backlog().
  Ticket put(std::span<const SinkSegment> batch);
  // Also starts the last write, which is not full yet.
  void flush();
  // Flushes, and starts a datasync when all earlier writes have completed. The ticket's status is the sticky
  // one: it covers the datasync and every write so far.
  Ticket sync();
  // Flushes, and asks the file system what close(2) tells when all earlier writes have completed; with
  // `on_disk`, after a datasync. The ticket's status is the sticky one. The sink stays usable.
  Ticket close(bool on_disk);
  // Call it if another process wrote this extent to the file. The extent counts for writeback, but not in the
  // counters of writes.
  void note(Extent written);

  // Takes a completion whose token has this sink's owner number.
  void complete(const io::Completion& completion);
  // Appends the tickets that are done since the last call.
  void take(std::vector<Done>& done);

  // The first error of this file. The sink still tries later writes.
  Status status() const;
  // The number of writes that wait for a free place among `depth`. 0: another write would start at once.
  std::size_t backlog() const;
  // True if no request waits or is in flight (writebacks included), and take() has no ticket.
  bool idle() const;
  const SinkCounters& counters() const;
  // True if the file is open past the page cache too. False: this was not asked for, or the file system
  // refused it.
  bool direct() const;

 private:
  struct Impl;
  explicit Sink(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Tokens of a sink (and of a journal writer) carry their owner's number in the upper half.
constexpr std::uint32_t owner_of(std::uint64_t token) { return static_cast<std::uint32_t>(token >> 32); }

}  // namespace millrace::sink
