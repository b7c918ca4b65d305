// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/pipeline/departures.hpp"
#include "agent/pipeline/overflow.hpp"
#include "agent/pipeline/shared.hpp"
#include "agent/pipeline/sort_buffer.hpp"

namespace millrace::agent {

// Chunks leave in file order while agents upstream still send (ADR 16), as far as the journal allows: a chunk
// that is stored there has to come back first. The next agent is told how far they have come.
//
//   | have left | to leave | what upstreams may still write to |
//   0        next        end
//
// Records for a place that has been passed wait for the next FilePipeline::depart(). Not thread safe.
class Sweep {
 public:
  Sweep(Shared& shared, SortBuffer& sort, Overflow& journal, Departures& departures)
      : shared_(shared), sort_(sort), journal_(journal), departures_(departures) {}

  // All below `end`, a file offset, leaves. A later call with a higher end goes on from where the sweep is;
  // UINT64_MAX: all that is here now.
  void to(std::uint64_t end);
  void stop();
  bool active() const { return active_; }
  // All below the end has been handed to the outlet.
  bool done() const { return active_ && lowest_held() >= end_ && departures_.sweeping() == 0; }
  // When the sweep last got on.
  std::uint64_t moved_ns() const { return active_ ? moved_ns_ : 0; }
  // The lowest place that the sweep has still to pass, a file offset; UINT64_MAX if nothing is here.
  std::uint64_t lowest_left() const;

  // Chunks leave up to one that has to come back from the journal. True if any did.
  bool advance();
  // The chunk of that index has come back from the journal and leaves, in file order if it is the next one.
  // Takes its `waiters`, whether or not a sweep is active.
  void loaded(std::uint64_t index, std::vector<WaiterId>& waiters);
  // Tells how far the next agent may go, now that nothing waits to be handed over.
  void say_mark();

 private:
  std::uint64_t lowest_held() const;  // index of a chunk
  void send(std::uint32_t chunk, std::vector<WaiterId> waiters = {});

  Shared& shared_;
  SortBuffer& sort_;
  Overflow& journal_;
  Departures& departures_;
  bool active_ = false;
  std::uint64_t next_ = 0;  // indices of chunks
  std::uint64_t end_ = 0;
  bool whole_ = false;  // nobody writes any more
  std::uint64_t moved_ns_ = 0;
};

}  // namespace millrace::agent
