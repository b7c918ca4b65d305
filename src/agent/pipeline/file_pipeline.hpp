// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/pipeline/block_pool.hpp"
#include "agent/pipeline/outlet.hpp"
#include "agent/pipeline/overflow.hpp"
#include "agent/pipeline/sort_buffer.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/settings.hpp"
#include "extent/extent.hpp"
#include "io/storage.hpp"
#include "sink/meter.hpp"

namespace millrace::agent {

// What all files of one agent have in common.
struct Shared {
  io::Storage& storage;
  std::string journal_directory;
  std::unique_ptr<BlockPool> pool = {};  // while any file is open
  std::uint32_t record_max_bytes = 0;    // of all open files
  std::uint32_t leaving_blocks = 0;      // on their way out
  std::uint32_t window_blocks =
      0;                          // free + leaving blocks are kept at this, so that the storage never starves
  bool advance_wanted = false;    // advance() has something to start, or has to make room first
  std::uint32_t next_owner = 1;   // of sinks and journals
  std::uint32_t lane_blocks = 0;  // that a lane with agents upstream gets, whatever others hold
  std::uint32_t reserved_blocks = 0;  // ... and that such lanes do not hold at present
  // That a chunk needs which is to come back from a journal and be written here: what comes back to be passed
  // on leaves them. Other agents' records may wait for that chunk, and what is passed on for them.
  std::uint32_t landing_blocks = 0;
  bool ledger_full = false;                       // a ledger can take no record now
  std::uint64_t write_within_ns = 5'000'000'000;  // how long a byte may be here, and nowhere else
  std::uint64_t now_ns = 0;
  std::map<std::uint64_t, sink::Meter> meters = {};  // by device
};

struct PipelineCounters {
  std::uint64_t records_in = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t records_dropped = 0;  // after an error that would repeat itself
  std::uint64_t extents_out = 0;      // runs of bytes given to the outlet
  std::uint64_t bytes_out = 0;
  std::uint64_t evictions = 0;        // chunks that left because memory was short
  std::uint64_t complete_chunks = 0;  // chunks that left because they were complete
  std::uint64_t journaled_bytes = 0;
  std::uint64_t noted_bytes = 0;
  std::uint64_t noted_extents = 0;
  std::uint64_t storage_busy_ns = 0;  // time with at least one write under way, by the told clock
};

// The way of one file's records: buffer (as the strategy says) -> [journal] -> outlet. What is on its way out
// is a departure: a chunk, or a staging block; its memory is free again when the outlet has done with it.
// Owns the outlet. Memory is the shared pool's. Not thread safe.
class FilePipeline {
 public:
  // Into the target file; if there is a next agent, to that too.
  static Result<std::unique_ptr<FilePipeline>> open(Shared& shared, Fd target, const FileSettings& settings,
                                                    LaneRoute way = {});
  // To the next agent.
  static std::unique_ptr<FilePipeline> open(Shared& shared, std::unique_ptr<Carrier> next,
                                            const FileSettings& settings);
  ~FilePipeline();

  void write(std::uint64_t offset, std::span<const std::byte> data) {
    ++counters_.records_in;
    counters_.bytes_in += data.size();
    if (data.empty()) return;
    if (doomed_) {
      ++counters_.records_dropped;
    } else if (staging_) {
      stage(offset, data);
    } else {
      sort_.insert(offset, data);
      const BlockPool& pool = *shared_.pool;
      if ((eager_ && sort_.complete_count() > 0) ||
          pool.blocks.available() + shared_.leaving_blocks < shared_.window_blocks) {
        shared_.advance_wanted = true;
      }
    }
  }
  void note(Extent extent);

  // Everything that has a byte of `extent` departs now.
  void depart(Extent extent);
  // `waiter` appears in take_finished() once for every departure that has a byte of `extent` and is not
  // over; returns their number.
  std::uint32_t watch(Extent extent, WaiterId waiter);
  void take_finished(std::vector<WaiterId>& waiters);

  // From here on, all below `end` departs in file order, as far as it has come; the next agent is told how
  // far. What is asked for again, with a higher end, goes on from where it is; UINT64_MAX: all that is here.
  // What comes for a place that has been passed waits for the next depart().
  void sweep(std::uint64_t end);
  void end_sweep();
  bool sweeping() const { return sweep_.has_value(); }
  // All below the end has been handed to the outlet.
  bool swept() const { return sweep_ && lowest_held() >= sweep_->end && sweep_->to_hand == 0; }
  // When the sweep last got on.
  std::uint64_t swept_ns() const { return sweep_ ? sweep_->moved_ns : 0; }
  // The lowest place that the sweep has still to pass, a file offset; UINT64_MAX if nothing is here.
  std::uint64_t lowest_unswept() const;

  // One chunk departs because memory is short. False if there is none.
  bool evict();
  // Complete chunks depart (auto), staged records depart (immediate), departures go to the outlet as far as
  // its window allows. True if anything moved.
  bool pump();
  // A completion for owns(owner). Then collect() takes what is done. True if anything was.
  void complete(const io::Completion& completion);
  bool collect();
  bool owns(std::uint32_t owner) const;

  // Makes sure of everything that has departed completely (Outlet::settle).
  sink::Ticket settle(transport::Kind kind, Extent extent);
  // True if bytes have departed since the last settle() of everything that completed well.
  bool unsettled() const { return settled_puts_ < puts_made_; }
  std::uint64_t settled_puts() const { return settled_puts_; }
  // Answers to settle(), each once.
  void take_settled(std::vector<sink::Ticket>& tickets);
  // Asks the next agent for bytes of the file; answered in take_fetched(), after take_data() has had them.
  // What goes wrong with it is told there alone.
  sink::Ticket fetch(Extent extent) { return outlet_->settle(transport::Kind::fetch, extent); }
  bool take_data(Carrier::Data& data) { return outlet_->take_data(data); }
  std::vector<sink::Done> take_fetched() { return std::exchange(fetched_, {}); }
  // True: what has departed is in the file only after a settle().
  bool carries() const { return outlet_->carries(); }

  Status error() const { return error_; }
  // True if bytes of the file are here.
  bool holds() const {
    return !sort_.empty() || !stage_segments_.empty() || !departures_.empty() ||
           (overflow_ && !overflow_->empty());
  }
  // True if bytes wait here for others, or for somebody who asks for them. What a sweep takes along does not
  // wait.
  bool buffers() const { return !sweep_ && (!sort_.empty() || (overflow_ && !overflow_->empty())); }
  // True if all that was ever written is in the file; `stable`: and on its disk.
  bool secured(bool stable) const {
    if (holds() || !error_.ok()) return false;
    return stable ? stable_puts_ == puts_made_ : !outlet_->carries() || !unsettled();
  }
  // True if bytes are not known to be in the file: here, or passed on.
  bool dirty() const { return holds() || (outlet_->carries() && unsettled() && error_.ok()); }
  // As dirty(), and the storage's hints count too: while false, the pipeline must not be destroyed.
  bool quiet() const;
  bool throttled() const;
  // First what was asked for comes back from the journal, unless a sweep has it come bit by bit.
  bool recalls() const { return overflow_ && overflow_->wanted() && !sweep_; }
  // ... and there was no memory for it.
  bool starved() const { return starved_; }
  // Something in the journal is for the file here, not for another agent.
  bool lands() const { return overflow_ && !overflow_->empty() && !outlet_->carries(); }
  // That what comes back from the journal may still need.
  std::uint32_t blocks_due() const { return overflow_ ? overflow_->blocks_due() : 0; }
  // True while anything is on its way out.
  bool leaving() const { return !departures_.empty(); }
  // About how much has not been handed to the file system yet.
  std::uint64_t pending_bytes() const;
  // Forgets what has not been handed to the outlet, and expects nothing of other agents any more.
  void drop();
  // Memory of chunks that leave by themselves once they are complete, and are not.
  std::uint64_t partial_bytes() const {
    if (!eager_) return 0;
    const std::uint64_t blocks = sort_.blocks() - sort_.complete_count() * shared_.pool->slots();
    return blocks << shared_.pool->block_shift();
  }
  // Blocks that this pipeline holds, on their way out or not.
  std::uint32_t blocks_in_use() const {
    return sort_.blocks() + leaving_blocks_ + (stage_block_ != LazyPool::none ? 1 : 0);
  }
  // Blocks that evict() could free.
  std::uint32_t blocks_held() const { return sort_.blocks() + (stage_segments_.empty() ? 0 : 1); }
  bool merge() const { return !staging_ && sort_.merge(); }
  bool direct() const { return outlet_->direct(); }

  // Why strategy journal did without one; empty if it did not.
  std::string journal_problem() const { return overflow_ ? overflow_->problem() : std::string(); }

  const FileSettings& settings() const { return settings_; }
  // Another open asks for more than the first one.
  void strengthen(Durability durability) { settings_.durability = durability; }
  const PipelineCounters& counters() const { return counters_; }
  const sink::SinkCounters& sink_counters() const { return outlet_->counters(); }
  void told_time(std::uint64_t now_ns, std::uint64_t before_ns);

 private:
  // One chunk or one staging block on its way to the outlet.
  struct Departure {
    Extent place;
    std::uint32_t chunk = LazyPool::none;
    std::uint32_t block = LazyPool::none;  // staging block, if not a chunk
    std::uint32_t blocks = 0;
    std::uint32_t slot = 0;  // how far it has been handed to the outlet
    std::uint32_t byte = 0;
    std::uint32_t tickets = 0;  // puts that are not done
    std::uint64_t since_ns = 0;
    bool handed = false;  // all of it
    bool swept = false;
    std::vector<WaiterId> waiters;
  };
  using Departures = std::list<Departure>;
  struct Put {
    Departures::iterator departure;
    std::uint32_t segments;
  };

  FilePipeline(Shared& shared, const FileSettings& settings);
  void stage(std::uint64_t offset, std::span<const std::byte> data);
  void depart_stage();
  Departures::iterator leave(std::uint32_t chunk, std::deque<Departures::iterator>& queue);
  std::uint64_t lowest_held() const;  // index of a chunk
  bool advance_sweep();
  Departures::iterator sweep_out(std::uint32_t chunk);
  void handed_over(const Departure& departure);
  void say_mark(std::uint64_t offset);
  void say_last_mark();
  void depart_stored(Extent extent);
  bool stores(std::uint64_t index);
  bool pump_overflow();
  void doom();
  bool hand_over(Departure& departure);
  void put(Departures::iterator departure);
  void finish(Departures::iterator departure);
  void fail(Status status);
  void drop_buffered();
  void add_journal();
  void end_settling(const sink::Done& done);

  Shared& shared_;
  FileSettings settings_;
  bool staging_;
  bool doomed_ = false;
  bool eager_;  // complete chunks leave at once
  std::uint32_t owner_ = 0;
  SortBuffer sort_;
  std::unique_ptr<Outlet> outlet_;
  std::unique_ptr<Overflow> overflow_;  // strategy journal
  bool starved_ = false;                // there was no memory for what is to come back from the journal
  Status error_;

  // Strategy immediate: the block that is being filled, and what it holds, in order of arrival.
  std::uint32_t stage_block_ = LazyPool::none;
  std::uint32_t stage_used_ = 0;
  Extent stage_hull_;
  std::vector<sink::Segment> stage_segments_;

  Departures departures_;
  std::uint32_t leaving_blocks_ = 0;           // of all departures
  std::deque<Departures::iterator> to_hand_;   // to the outlet
  std::deque<Departures::iterator> to_store_;  // to the journal
  std::unordered_map<sink::Ticket, Put> puts_;
  // Chunks leave in ascending order:
  //
  //   | have left | to leave | what upstreams may still write to |
  //   0        next        end
  struct Sweep {
    std::uint64_t next = 0;  // indices of chunks
    std::uint64_t end = 0;
    bool whole = false;        // nobody writes any more
    std::uint64_t marked = 0;  // file offset that the next agent was told
    std::uint64_t moved_ns = 0;
    std::uint32_t to_hand = 0;  // departures of it in to_hand_
  };
  std::optional<Sweep> sweep_;
  std::uint32_t segments_out_ = 0;
  bool put_since_flush_ = false;
  std::uint64_t puts_made_ = 0;
  std::uint64_t settled_puts_ = 0;       // so many of them are known to be safe
  std::uint64_t stable_puts_ = 0;        // ... on the disk
  std::vector<sink::Segment> segments_;  // scratch
  std::vector<std::uint64_t> indices_;   // scratch
  std::vector<std::uint32_t> chunks_;    // scratch
  std::vector<sink::Done> done_;         // scratch
  std::vector<WaiterId> finished_;
  struct Settling {
    sink::Ticket ticket;
    std::uint64_t puts;  // that it makes sure of
    bool stable;
  };
  std::vector<Settling> settling_;
  std::vector<sink::Ticket> settled_;
  std::vector<sink::Done> fetched_;
  PipelineCounters counters_;
};

}  // namespace millrace::agent
