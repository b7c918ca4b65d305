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
  std::uint64_t records_dropped = 0;  // after an error that every further write would meet
  std::uint64_t evictions = 0;        // chunks that left to free memory
  std::uint64_t complete_chunks = 0;  // chunks that left because they were complete
  std::uint64_t journaled_bytes = 0;
  std::uint64_t noted_bytes = 0;
  std::uint64_t noted_extents = 0;
  std::uint64_t storage_busy_ns = 0;  // time with at least one departure or settling under way
};

// A pipeline's use of the shared pool, in blocks, and its demands.
struct Claims {
  std::uint32_t in_use;         // on their way out or not
  std::uint32_t evictable;      // evict() makes these depart
  std::uint32_t due;            // the most that the chunk which comes back from the journal still needs
  bool recalls;                 // wanted chunks have to come back from the journal first
  bool starved;                 // there was no memory for such a chunk
  bool lands;                   // the journal holds a chunk for the file here, not for another agent
  std::uint32_t partial;        // of incomplete chunks that leave when they are complete
  std::uint64_t pending_bytes;  // about as many bytes are not with the file system yet
};

// The way of the records of one file or lane: buffer, as the strategy says -> [journal] -> departures ->
// outlet. Owns all of these. The memory is the shared pool's. Not thread safe.
class FilePipeline {
 public:
  // Leads into the target file, or to the next agent, or to both, as the lane's route says. A way to the next
  // agent alone needs no `target`.
  static Result<std::unique_ptr<FilePipeline>> open(Shared& shared, Fd target, const FileSettings& settings,
                                                    LaneRoute way);

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

  // Makes every chunk depart that has a byte of `extent`. Returns the number of departures in `extent` that
  // have not ended. Each of them names `waiter` once in take_finished() when it ends.
  std::uint32_t depart(Extent extent, WaiterId waiter = no_waiter);
  // Makes one chunk depart to free memory. False if there is none.
  bool evict();
  // Goes on with the sweep and with chunks that come back from the journal. Makes complete chunks (auto) and
  // arrivals (immediate) depart. Hands departures to the outlet as far as its window allows, if it
  // `may_write`. True if anything moved.
  bool pump(bool may_write = true);
  // A completion of the storage; ignored if it is for another pipeline.
  void complete(const io::Completion& completion);
  // Takes finished work from the outlet, after complete(). True if there was any. `elapsed_ns`: the time
  // since the last call.
  bool collect(std::uint64_t elapsed_ns);
  // Settles all bytes that have departed completely (Outlet::settle).
  sink::Ticket settle(transport::Kind kind, Extent extent, bool on_disk) {
    return settlements_.begin(kind, extent, on_disk || ends_on_disk(settings_));
  }
  // Keeps an error of the file that came from elsewhere.
  void keep(Status error) { fail(error); }
  // Forgets all bytes that the outlet does not have, and ignores further records.
  void drop();

  const Departures& departures() const { return departures_; }
  std::vector<WaiterId> take_finished() { return departures_.take_finished(); }
  Settlements& settlements() { return settlements_; }
  Sweep& sweep() { return sweep_; }
  Outlet& outlet() const { return *outlet_; }

  Status error() const { return error_; }
  // True: departed records are in the file only after a settle().
  bool carries() const { return outlet_->carries(); }
  // True if the pipeline has bytes that its outlet has not finished with.
  bool holds() const {
    return !sort_.empty() || !arrivals_.empty() || !departures_.empty() || !journal_.empty();
  }
  // True if bytes wait for their neighbours or for a request.
  bool buffers() const { return !sort_.empty() || !journal_.empty(); }
  // True if all records are in the file, as safely as the durability says.
  bool secured() const;
  // True if bytes may not be in the file yet: they are here, or have been passed on and are not settled.
  bool dirty() const { return holds() || (carries() && settlements_.unsettled() && error_.ok()); }
  // True if no bytes are pending and no request is with the storage, hints included. The pipeline must not be
  // destroyed before.
  bool quiet() const { return !dirty() && settlements_.quiet() && outlet_->idle() && !journal_.in_flight(); }
  bool throttled() const { return departures_.ahead() || (immediate_ && departures_.crowded()); }
  // True if enough blocks of incomplete chunks are here that a sync should wait for ranks that have not come.
  bool worth_gathering() const { return claims().partial >= shared_.budget.worth_gathering(); }
  Claims claims() const;
  // The reason why strategy journal works without a journal; else empty.
  const Overflow& journal() const { return journal_; }

  const FileSettings& settings() const { return settings_; }
  // Another open of the file asks for a stronger durability.
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
  bool doomed_ = false;  // every further write would fail: records are dropped
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

// True if runs that touch each other leave as one.
bool merges(const FileSettings& settings);

}  // namespace millrace::agent
