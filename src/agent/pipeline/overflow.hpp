// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/pipeline/shared.hpp"
#include "agent/pipeline/sort_buffer.hpp"
#include "base/result.hpp"
#include "io/storage.hpp"
#include "journal/log.hpp"

namespace millrace::agent {

// Strategy journal: records that do not fit into the sort buffer go to a node-local file. They come back
// chunk by chunk before the agent writes them to the target. The file has no name, so it vanishes even if the
// agent is killed.
//
//   store   a chunk's runs are appended; a segment remembers where
//   load    a chunk's segments are read, newest first, and fill the gaps of what is in memory, which is
//           newer than all of them; so write order is kept. The chunk then leaves as any other.
//
//   journal   | seg chunk 3 | seg chunk 4 | ... | seg chunk 3 | ...
//                  ^------------- older -------------/
//
// A segment has at most about 1 MiB. Their number is bounded, and so is the room on the journal's disk: when
// full(), no new chunk may be stored. The room that is kept then takes the newer parts of chunks that are
// stored already. Not thread safe.
class Overflow {
 public:
  // `on`: the strategy is journal. Else nothing is ever stored.
  Overflow(Shared& shared, SortBuffer& buffer, bool on) : shared_(shared), buffer_(buffer), on_(on) {}
  // Must be quiet.
  ~Overflow() = default;
  Overflow(const Overflow&) = delete;
  Overflow& operator=(const Overflow&) = delete;

  bool on() const { return on_; }
  // Why there is or was none, for the report; empty if there was no need or no trouble.
  const std::string& problem() const { return problem_; }

  // True if a chunk that leaves the buffer for want of memory is to be stored; it counts from now on. False:
  // it goes to the outlet. While a sweep asks for one chunk after another, chunks behind it are stored as
  // before.
  bool takes(std::uint64_t index, bool sweeping);
  // Appends runs of a chunk from (slot, byte) on, and moves these; true when all is appended (its memory may
  // go), false if the writer is full for now.
  bool store(const Chunk& chunk, std::uint32_t& slot, std::uint32_t& byte);
  bool holds(std::uint64_t index) const { return chunks_.contains(index); }
  // The lowest index that is stored and not below `from`; no_chunk if there is none.
  std::uint64_t lowest(std::uint64_t from) const {
    const auto place = chunks_.lower_bound(from);
    return place == chunks_.end() ? no_chunk : place->first;
  }
  // Behind the highest index that is stored; 0 if there is none.
  std::uint64_t end() const { return chunks_.empty() ? 0 : chunks_.rbegin()->first + 1; }

  // All that is stored and has a byte of `extent` is to be loaded.
  void want(Extent extent);
  // `waiter` is attached to every wanted chunk in `extent`; returns their number.
  std::uint32_t watch(Extent extent, WaiterId waiter);
  bool wanted() const { return wanted_ > 0; }
  // The chunk that is being loaded must not leave the buffer before.
  std::uint64_t loading() const { return loading_; }

  // Blocks that the loading chunk may still need. They are reserved: without them the load could not end, and
  // the chunk could not leave.
  std::uint32_t blocks_due() const;

  enum class Progress { nothing, moved, needs_room, loaded };
  // One step of loading, as far as the budget grants it; `passed_on`: to another agent. `loaded`: the chunk
  // `index` is whole in the buffer; `waiters` are those attached.
  Progress pump(bool may_start, const Budget& budget, bool passed_on, std::uint64_t& index,
                std::vector<WaiterId>& waiters);
  // The last step found too little memory.
  bool starved() const { return starved_; }

  bool owns(std::uint32_t owner) const { return log_ && log_->owns(owner); }
  void complete(const io::Completion& completion) { log_->complete(completion); }
  Status status() const;
  // Forgets everything stored, and returns the waiters of wanted chunks.
  std::vector<WaiterId> drop();

  // In the journal, headers included.
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  bool empty() const { return chunks_.empty(); }

  static constexpr std::uint64_t no_chunk = UINT64_MAX;

 private:
  struct Stored {
    std::vector<journal::Log::Segment> segments;  // the newest is the last one
    bool wanted = false;
    std::vector<WaiterId> waiters;
  };

  Status prepare();
  Status create(Fd again);
  Status fail(Status status);
  bool has_space();
  bool full();
  Progress step(bool may_start, const Budget& budget, bool passed_on, std::uint64_t& index,
                std::vector<WaiterId>& waiters);
  void begin_segment(Stored& stored);
  template <class F>
  void each_in(Extent extent, F f);
  Status take_segment(Stored& stored);
  void forget_segment(Stored& stored);
  void forget(std::map<std::uint64_t, Stored>::iterator place);

  Shared& shared_;
  SortBuffer& buffer_;
  bool on_;
  Status status_;  // of loading
  bool unavailable_ = false;
  std::string problem_;
  Fd space_;                       // the journal's file, asked for the room on its disk
  std::uint64_t space_until_ = 0;  // up to this size of the journal there is enough

  std::unique_ptr<journal::Log> log_;

  std::map<std::uint64_t, Stored> chunks_;
  std::uint32_t segments_ = 0;  // of all chunks
  std::uint64_t stored_bytes_ = 0;
  std::uint32_t wanted_ = 0;

  std::uint64_t storing_ = no_chunk;  // between two calls of store()
  std::uint64_t loading_ = no_chunk;
  bool starved_ = false;
};

}  // namespace millrace::agent
