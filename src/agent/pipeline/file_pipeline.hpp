// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/pipeline/arrivals.hpp"
#include "agent/pipeline/departures.hpp"
#include "agent/pipeline/outlet.hpp"
#include "agent/pipeline/overflow.hpp"
#include "agent/pipeline/settlements.hpp"
#include "agent/pipeline/shared.hpp"
#include "agent/pipeline/sort_buffer.hpp"
#include "agent/pipeline/sweep.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "extent/extent.hpp"

namespace millrace::agent {

struct PipelineCounters {
  std::uint64_t records_in = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t records_dropped = 0;  // after an error that would repeat itself
  std::uint64_t evictions = 0;        // chunks that left because memory was short
  std::uint64_t complete_chunks = 0;  // chunks that left because they were complete
  std::uint64_t journaled_bytes = 0;
  std::uint64_t noted_bytes = 0;
  std::uint64_t noted_extents = 0;
  std::uint64_t storage_busy_ns = 0;  // time with at least one write under way, by the told clock
};

// A pipeline's part of the memory that all files share, in blocks, and its demands.
struct Claims {
  std::uint32_t in_use;         // on their way out or not
  std::uint32_t evictable;      // evict() frees these
  std::uint32_t due;            // a chunk that comes back from the journal may still need these
  bool recalls;                 // chunks that were asked for come back from the journal first
  bool starved;                 // ... and there was no memory for one
  bool lands;                   // the journal holds a chunk for the file here, not for another agent
  std::uint32_t partial;        // of chunks that leave by themselves once they are complete, and are not
  std::uint64_t pending_bytes;  // about as much has not been handed to the file system
};

// The way of one file's records: buffer (as the strategy says) -> [journal] -> departures -> outlet. Owns all
// of these. Memory is the shared pool's. Not thread safe.
class FilePipeline {
 public:
  // Into the target file; if there is a next agent, to that too.
  static Result<std::unique_ptr<FilePipeline>> open(Shared& shared, Fd target, const FileSettings& settings,
                                                    LaneRoute way = {});
  // To the next agent.
  static std::unique_ptr<FilePipeline> open(Shared& shared, std::unique_ptr<Carrier> next,
                                            const FileSettings& settings);

  void write(std::uint64_t offset, std::span<const std::byte> data) {
    ++counters_.records_in;
    counters_.bytes_in += data.size();
    if (data.empty()) return;
    if (doomed_) {
      ++counters_.records_dropped;
    } else if (immediate_) {
      write_in_order(offset, data);
    } else {
      sort_.insert(offset, data);
      const BlockPool& pool = *shared_.pool;
      if ((eager_ && sort_.complete_count() > 0) || shared_.budget.below_window(pool.blocks.available())) {
        shared_.advance_wanted = true;
      }
    }
  }
  void note(Extent extent);

  // Everything that has a byte of `extent` departs now. `waiter` is told once for every departure that has
  // one and is not over (take_finished); returns their number.
  std::uint32_t depart(Extent extent, WaiterId waiter = no_waiter);
  // One chunk departs because memory is short. False if there is none.
  bool evict();
  // Complete chunks depart (auto), records in order of arrival depart (immediate), departures go to the
  // outlet as far as its window allows. True if anything moved.
  bool pump();
  // A completion of the storage; ignored if it is for another pipeline. Then collect() takes what is done.
  // True if anything was. `elapsed_ns`: since the last call, by the told clock.
  void complete(const io::Completion& completion);
  bool collect(std::uint64_t elapsed_ns);
  // Makes sure of everything that has departed completely.
  sink::Ticket settle(transport::Kind kind, Extent extent) {
    return settlements_.begin(kind, extent, ends_on_disk(settings_));
  }
  // Forgets what has not been handed to the outlet, and takes nothing any more.
  void drop();

  const Departures& departures() const { return departures_; }
  void take_finished(std::vector<WaiterId>& waiters) { departures_.take_finished(waiters); }
  Settlements& settlements() { return settlements_; }
  Sweep& sweep() { return sweep_; }
  Outlet& outlet() const { return *outlet_; }

  Status error() const { return error_; }
  // True: departed records are in the file only after a settle().
  bool carries() const { return outlet_->carries(); }
  // True if bytes of the file are here.
  bool holds() const {
    return !sort_.empty() || !arrivals_.empty() || !departures_.empty() || !journal_.empty();
  }
  // True if bytes wait here for others, or for somebody who asks for them.
  bool buffers() const { return !sort_.empty() || !journal_.empty(); }
  // True if all that was ever written is in the file, as safely as the durability says.
  bool secured() const;
  // True if bytes are not known to be in the file: here, or passed on.
  bool dirty() const { return holds() || (carries() && settlements_.unsettled() && error_.ok()); }
  // As dirty(), and the storage's hints count too: while false, the pipeline must not be destroyed.
  bool quiet() const { return !dirty() && settlements_.quiet() && outlet_->idle(); }
  bool throttled() const { return departures_.ahead() || (immediate_ && departures_.crowded()); }
  // The time waits for neighbours to come, with so many blocks of them.
  bool worth_gathering() const { return claims().partial >= shared_.budget.worth_gathering(); }
  Claims claims() const;
  // Why strategy journal did without a journal; empty if it did not.
  const std::string& journal_problem() const { return journal_.problem(); }

  const FileSettings& settings() const { return settings_; }
  // Another open asks for more than the first one.
  void strengthen(Durability durability) { settings_.durability = durability; }
  const PipelineCounters& counters() const { return counters_; }

 private:
  FilePipeline(Shared& shared, const FileSettings& settings, std::uint32_t owner,
               std::unique_ptr<Outlet> outlet);
  void write_in_order(std::uint64_t offset, std::span<const std::byte> data);
  bool depart_arrivals();
  bool recall();
  void fail(Status status);

  Shared& shared_;
  FileSettings settings_;
  bool immediate_;
  bool doomed_ = false;
  bool eager_;           // complete chunks leave at once
  std::uint32_t owner_;  // of the sink's requests; 0: there is no sink
  SortBuffer sort_;
  Arrivals arrivals_;
  std::unique_ptr<Outlet> outlet_;
  Overflow journal_;  // strategy journal
  Departures departures_;
  Sweep sweep_;
  Settlements settlements_;
  Status error_;
  std::vector<std::uint64_t> indices_;  // scratch
  std::vector<std::uint32_t> chunks_;   // scratch
  std::vector<sink::Done> done_;        // scratch
  PipelineCounters counters_;
};

// Runs that touch each other leave as one.
bool merges(const FileSettings& settings);

}  // namespace millrace::agent
