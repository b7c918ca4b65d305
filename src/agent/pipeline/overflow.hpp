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
//   store   appends a chunk's runs to the file, and keeps their place as a segment
//   load    reads a chunk's segments, the newest first. Each fills the gaps of the bytes in memory, which are
//           newer. This keeps the order of writing. Then the chunk leaves as any other.
//
//   journal   | seg chunk 3 | seg chunk 4 | ... | seg chunk 3 | ...
//                  ^------------- older -------------/
//
// A segment has at most about 1 MiB. The number of segments and the room on the journal's disk are bounded.
// When full(), no new chunk is stored. The remaining room is for newer parts of chunks that are stored
// already. The storage's threads make the file and its room, because these calls wait for the disk; chunks
// wait meanwhile. If there can be no file, they go to the outlet instead, in their order. Not thread safe.
class Overflow {
 public:
  // `on`: the strategy is journal. Otherwise nothing is ever stored.
  Overflow(Shared& shared, SortBuffer& buffer, bool on)
      : shared_(shared), buffer_(buffer), on_(on), own_number_(shared.next_owner++) {}
  // Must be quiet.
  ~Overflow();
  Overflow(const Overflow&) = delete;
  Overflow& operator=(const Overflow&) = delete;

  // False: no chunk can be stored.
  bool on() const { return on_; }
  // The reason why there is no journal, for the report; else empty.
  const std::string& problem() const { return problem_; }

  // True if a chunk that is evicted has to be stored. holds() is true for it from now on. False: it goes to
  // the outlet. `sweeping`: the sweep wants one chunk after another, so chunks behind it are stored although
  // some are wanted.
  bool takes(std::uint64_t index, bool sweeping);
  // Appends runs of a chunk from (slot, byte) on, and moves both. True if all runs are appended, so that the
  // chunk's memory may be freed. False: the file has no room, or the writer is full, for now.
  bool store(const Chunk& chunk, std::uint32_t& slot, std::uint32_t& byte);
  bool holds(std::uint64_t index) const { return chunks_.contains(index); }
  // The lowest stored index at or above `from`; no_chunk if there is none.
  std::uint64_t lowest(std::uint64_t from) const {
    const auto place = chunks_.lower_bound(from);
    return place == chunks_.end() ? no_chunk : place->first;
  }
  // One more than the highest stored index; 0 if there is none.
  std::uint64_t end() const { return chunks_.empty() ? 0 : chunks_.rbegin()->first + 1; }

  // All stored chunks that meet `extent` have to be loaded.
  void want(Extent extent);
  // Attaches `waiter` to every wanted chunk that meets `extent`. Returns their number.
  std::uint32_t watch(Extent extent, WaiterId waiter);
  bool wanted() const { return wanted_ > 0; }
  // The chunk that is being loaded; no_chunk: none. It must not leave the buffer before the end of the load.
  std::uint64_t loading() const { return loading_; }

  // Blocks that the loading chunk may still need. The budget reserves them, so that the load can end.
  std::uint32_t blocks_due() const;

  enum class Pumped { nothing, moved, loaded };
  // One step of loading, if the budget grants it. `passed_on`: the chunks go to another agent. `loaded`: the
  // buffer has the whole chunk `index`, and the function has appended its waiters to `waiters`.
  Pumped pump(bool may_start, const Budget& budget, bool passed_on, std::uint64_t& index,
              std::vector<WaiterId>& waiters);
  // True if the last step found too little memory.
  bool starved() const { return starved_; }

  bool owns(std::uint32_t owner) const { return owner == own_number_ || (log_ && log_->owns(owner)); }
  void complete(const io::Completion& completion);
  Status status() const;
  // Forgets all stored chunks, and returns their waiters.
  std::vector<WaiterId> drop();

  // Bytes of the stored chunks in the journal, headers included.
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  bool empty() const { return chunks_.empty(); }
  // True if the storage has a request of the journal, perhaps for a chunk that is forgotten.
  bool in_flight() const { return preparing_ || (log_ && (log_->in_flight() || log_->reading())); }
  std::uint64_t completions() const { return prepared_ + (log_ ? log_->completions() : 0); }

  static constexpr std::uint64_t no_chunk = UINT64_MAX;

 private:
  static constexpr std::uint32_t segments_max = 128 * 1024;  // their descriptions take 3 MiB
  struct Stored {
    std::vector<journal::Log::Segment> segments;  // the newest is the last one
    bool wanted = false;
    std::vector<WaiterId> waiters;
  };
  using Chunks = std::map<std::uint64_t, Stored>;  // by index

  std::uint64_t file_bytes() const { return log_ ? log_->file_bytes() : 0; }
  void prepare();
  bool has_room();
  Status open();
  bool full() const { return segments_ >= segments_max || no_room_; }
  void begin_segment(Stored& stored);
  template <class F>
  void each_in(Extent extent, F f);
  Status take_segment(Stored& stored);
  void forget_segment(Stored& stored);
  void forget(Chunks::iterator place);
  Pumped come_back(Chunks::iterator place, std::uint64_t& index, std::vector<WaiterId>& waiters);

  Shared& shared_;
  SortBuffer& buffer_;
  bool on_;
  std::uint32_t own_number_;  // owner number of requests for room
  Status status_;             // of loading
  std::string problem_;

  std::shared_ptr<Fd> file_ = std::make_shared<Fd>();  // to query and reserve room on its disk
  bool preparing_ = false;             // the storage makes room, and the file if there is none
  std::uint64_t prepared_ = 0;         // number of answers
  std::uint64_t room_from_ = 0;        // size of the file when the storage was asked
  std::uint64_t room_until_ = 0;       // the disk has enough room up to this size of the file
  bool no_room_ = false;               // the last answer
  std::unique_ptr<journal::Log> log_;  // null: no file yet

  Chunks chunks_;
  std::uint32_t segments_ = 0;  // of all chunks
  std::uint64_t stored_bytes_ = 0;
  std::uint32_t wanted_ = 0;

  std::uint64_t storing_ = no_chunk;  // a chunk that store() has stored in part
  std::uint64_t loading_ = no_chunk;
  bool starved_ = false;
};

}  // namespace millrace::agent
