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

// Makes chunks leave in file order while agents upstream still send (ADR 16). A chunk with a part in the
// journal has to come back first. Tells the next agent the place that the sweep has reached.
//
//   | have left | to leave | agents upstream may still write here |
//   0        next        end
//
// Records below `next` wait for the next FilePipeline::depart(). Not thread safe.
class Sweep {
 public:
  Sweep(Shared& shared, SortBuffer& sort, Overflow& journal, Departures& departures)
      : shared_(shared), sort_(sort), journal_(journal), departures_(departures) {}

  // Makes all chunks below `end`, a file offset, leave. A later call with a higher end continues the sweep.
  // UINT64_MAX: all chunks that are here now.
  void to(std::uint64_t end);
  void stop();
  bool active() const { return active_; }
  // True if all chunks below the end have been handed to the outlet.
  bool done() const { return active_ && lowest_held() >= end_ && departures_.sweeping() == 0; }
  // The time of the sweep's last progress; 0: there is no sweep.
  std::uint64_t moved_ns() const { return active_ ? moved_ns_ : 0; }
  // File offset of the lowest chunk that the sweep has not passed; UINT64_MAX if there is none.
  std::uint64_t lowest_left() const;

  // Makes chunks leave, up to the first one that has to come back from the journal. True if any left.
  bool advance();
  // The chunk of that index has come back from the journal. It leaves, as a part of the sweep if it is the
  // next one. Takes its `waiters`, whether or not a sweep is active.
  void loaded(std::uint64_t index, std::vector<WaiterId>& waiters);
  // Tells the next agent the place that the sweep has reached, if no chunk waits to be handed over.
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
  bool whole_ = false;  // to() was called with UINT64_MAX
  std::uint64_t moved_ns_ = 0;
};

}  // namespace millrace::agent
