// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/pipeline/outlet.hpp"
#include "agent/pipeline/overflow.hpp"
#include "agent/pipeline/shared.hpp"
#include "extent/extent.hpp"
#include "sink/sink.hpp"

namespace millrace::agent {

// Chunks, and blocks of Arrivals, on their way out of one pipeline. Their memory is free again when the
// outlet or the journal has finished with them. Not thread safe.
//
//   to_outlet() -> | queue | -> hand_over(): runs of bytes -> put() -> done() -> memory free, waiters told
//   to_journal() -> | queue | -> store() ------------------------------------^
class Departures {
 public:
  // `merge`: runs that touch each other leave as one.
  Departures(Shared& shared, Outlet& outlet, bool merge) : shared_(shared), outlet_(outlet), merge_(merge) {}

  // Takes a chunk that has left the sort buffer. `waiters` are told when the departure ends.
  void to_outlet(std::uint32_t chunk, std::vector<WaiterId> waiters = {});
  void to_journal(std::uint32_t chunk);
  // As to_outlet(), for the next chunk of a sweep.
  void to_outlet_in_order(std::uint32_t chunk, std::vector<WaiterId> waiters = {});
  // A block of Arrivals, which is handed over at once.
  void put_block(std::uint32_t block, Extent hull, std::span<const sink::SinkSegment> segments);

  // `waiter` is told once for every departure that has a byte of `extent`. Returns their number.
  std::uint32_t watch(Extent extent, WaiterId waiter);
  void tell(const std::vector<WaiterId>& waiters) {
    finished_.insert(finished_.end(), waiters.begin(), waiters.end());
  }
  std::vector<WaiterId> take_finished() { return std::exchange(finished_, {}); }

  // Hands departures to the outlet, up to a bound. True if anything moved. `doomed`: they end without the
  // outlet.
  bool hand_over(bool doomed);
  // Stores chunks as far as the journal allows; without a journal they go to the outlet. True if anything
  // moved.
  bool store(Overflow& journal, bool doomed);
  bool storing() const { return !to_journal_.empty(); }
  // No further segment follows: the outlet starts the write that it held back for one.
  void flush();
  // The outlet's answer to a put; false if it answers a settling.
  bool done(const sink::Done& done);

  // During a sweep, each chunk that is handed over moves the mark of the next agent.
  void begin_sweep();
  void end_sweep();
  // Chunks of the sweep that have not been handed over.
  std::uint32_t sweeping() const { return sweeping_; }
  // Tells the next agent that all later bytes lie at or above `offset`.
  void mark(std::uint64_t offset);

  bool empty() const { return list_.empty(); }
  std::uint32_t blocks() const { return blocks_; }
  // If more bytes are on their way than keep the storage busy, the storage's threads may lack processors. The
  // agent then takes no records, so that ranks wait. This ends when the oldest departure is `storage_slow_ns`
  // old, because then the storage is slow.
  static constexpr std::uint64_t storage_slow_ns = 25'000'000;
  bool ahead() const { return shared_.now_ns < ahead_until_ns(); }
  std::uint64_t ahead_until_ns() const {
    return shared_.budget.leaves_plenty() && !list_.empty() ? list_.front().since_ns + storage_slow_ns : 0;
  }
  // True if the number of departures or of their segments is at its bound.
  bool crowded() const;
  // The number of puts so far.
  std::uint64_t puts() const { return puts_made_; }
  // The number of runs given to the outlet, and their bytes.
  std::uint64_t extents_out() const { return extents_out_; }
  std::uint64_t bytes_out() const { return bytes_out_; }

 private:
  struct Departure {
    Extent place;
    std::uint32_t chunk = LazyPool::none;
    std::uint32_t block = LazyPool::none;  // of Arrivals, if not a chunk
    std::uint32_t blocks = 0;
    std::uint64_t since_ns = 0;
    std::vector<WaiterId> waiters = {};
    std::uint32_t slot = 0;  // bytes before (slot, byte) have been handed over or stored
    std::uint32_t byte = 0;
    bool handed = false;        // all bytes have been handed over
    bool swept = false;         // a part of the sweep
    std::uint32_t tickets = 0;  // puts that are not done
  };
  using Iterator = std::list<Departure>::iterator;
  struct Put {
    Iterator departure;
    std::uint32_t segments;
  };

  Iterator add(Departure departure);
  Iterator leave(std::uint32_t chunk, std::vector<WaiterId> waiters);
  bool take_runs(Departure& departure);
  void put(Iterator departure, std::span<const sink::SinkSegment> segments);
  void finish(Iterator departure);

  Shared& shared_;
  Outlet& outlet_;
  bool merge_;
  std::list<Departure> list_;
  std::uint32_t blocks_ = 0;  // of all departures
  std::deque<Iterator> to_outlet_;
  std::deque<Iterator> to_journal_;
  std::unordered_map<sink::Ticket, Put> puts_;
  std::uint32_t segments_out_ = 0;  // of puts that are not done
  std::uint64_t puts_made_ = 0;
  std::uint64_t extents_out_ = 0;
  std::uint64_t bytes_out_ = 0;
  bool unflushed_ = false;
  std::uint32_t sweeping_ = 0;
  std::uint64_t marked_ = 0;                 // file offset of the last mark
  std::vector<sink::SinkSegment> segments_;  // scratch
  std::vector<WaiterId> finished_;
};

}  // namespace millrace::agent
