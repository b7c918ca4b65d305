// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace millrace::agent {

// Decides who may take memory of the agent's pool. No other place in the agent refuses memory. ADR 22 proves
// that agents with this budget never wait for each other in a circle. A lane is **fed** if agents upstream
// send it records.
//
// The pool's blocks, as one round sees them:
//
//   | in use, and not on the way out | leaving | free                                    |
//                                    |         | reserved | for the first that asks      |
//                                    |<-- window: departures start if it is smaller --->|
//
// - share: the number of blocks that each fed lane can have, even if other lanes use all others.
// - reserved: the blocks that fed lanes may still take of their shares, and those that a chunk which comes
// back
//   from the journal still needs.
// - landing: room for a chunk that comes back from the journal to be written here. A chunk that comes back to
//   be passed on leaves it free.
//
// Pure numbers: a Budget neither owns nor touches memory. Not thread safe.
class Budget {
 public:
  // The pool's memory. Units: blocks, fine maps, chunks.
  struct Supply {
    std::uint32_t blocks;
    std::uint32_t fine_maps;
    std::uint32_t chunks;
  };
  // One lane of one file, at the begin of the round.
  struct LaneNeeds {
    bool fed;              // agents upstream send it records
    std::uint32_t in_use;  // its blocks, on their way out or not
    std::uint32_t due;     // blocks that the chunk which comes back may still need
    bool lands;            // its journal has chunks to be written here
  };

  // `all`: the empty pool. `spans`: the most blocks that one record touches. `slots`: blocks of a chunk.
  // `window`: see above.
  void resize(Supply all, std::uint32_t spans, std::uint32_t slots, std::uint32_t window);
  // Counts the reserved blocks anew. False: too many lanes are fed.
  bool recount(std::span<const LaneNeeds> lanes);

  // --- Who may take memory: `free` is what is free now ---

  // A record of a rank of this node.
  bool grants_rank(Supply free) const { return has_record(free, reserved_); }
  // A record of an agent upstream, from the share of its lane, if grants_rank() refuses. The lane has
  // `in_use` blocks.
  bool grants_share(Supply free, std::uint32_t in_use) const {
    return in_use + spans_ <= share_ && has_record(free, 0);
  }
  // A chunk begins to come back from the journal, to be passed on or to be written here.
  bool grants_return(Supply free, bool passed_on) const {
    return has_chunk(free, slots_ + reserved_ + (passed_on ? landing_ : 0));
  }
  // The chunk that comes back takes its remaining `due` blocks, which are reserved for it.
  bool grants_rest(Supply free, std::uint32_t due) const { return has_chunk(free, due); }

  // --- Departures ---

  std::uint32_t window() const { return window_; }
  // True if departures have to start, because too few blocks are free or on their way out.
  bool wants_departures(Supply free) const;
  // True if the next record would touch the window. It waits if other lanes need the memory more
  // (Requests::ahead).
  bool short_of_blocks(Supply free) const { return free.blocks < window_ + reserved_ + spans_; }
  // True if a round is due. The write path asks this for each record.
  bool below_window(std::uint32_t free_blocks) const { return free_blocks + leaving_ < window_; }
  // True if more blocks are on their way out than keep the storage busy.
  bool leaves_plenty() const { return leaving_ > window_; }

  // --- Blocks of files that agents read for ranks (ADR 24): memory of their own, not the pool's ---

  // A lane that has `own` such blocks may read one more. A lane always gets its first one.
  bool grants_read(std::size_t own) const {
    return own == 0 || (own < lane_reads_max && reading_ < reads_max);
  }
  void starts_to_read() { ++reading_; }
  void has_read(std::size_t blocks) { reading_ -= static_cast<std::uint32_t>(blocks); }

  // --- Numbers of blocks that wait for their neighbours in the file ---

  // The most that a lane keeps which passes its bytes on. The neighbours may be on other nodes, and the time
  // of an idle link is lost.
  std::uint32_t passed_on_above() const { return window_ / 4; }
  // From this number on, a sync waits for ranks that have not come.
  std::uint32_t worth_gathering() const { return window_ / 2; }
  // Each time that so many more wait, the agent holds ranks back. In a small buffer, chunks would otherwise
  // soon leave before they are complete.
  std::uint32_t worth_holding_back() const { return std::min(all_.blocks / 2, 3 * window_); }

  // --- Changes between two counts ---

  void starts_to_leave(std::uint32_t blocks) { leaving_ += blocks; }
  // The blocks are free again. Until the next count they stay reserved.
  void has_left(std::uint32_t blocks) {
    leaving_ -= blocks;
    reserved_ += blocks;
  }
  // The chunk that comes back needs more blocks than at the last count.
  void owes(std::uint32_t blocks) { reserved_ += blocks; }

  static constexpr std::size_t lane_reads_max = 8;
  static constexpr std::uint32_t reads_max = 32;

 private:
  bool has_record(Supply free, std::uint32_t besides) const {
    return free.blocks >= spans_ + besides && free.fine_maps >= 2 + besides &&
           free.chunks >= spans_ + besides;
  }
  bool has_chunk(Supply free, std::uint32_t blocks) const {
    return free.blocks >= blocks && free.fine_maps >= slots_ && free.chunks >= 1;
  }

  Supply all_{};
  std::uint32_t spans_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t window_ = 0;
  std::uint32_t leaving_ = 0;
  std::uint32_t share_ = 0;
  std::uint32_t reserved_ = 0;
  std::uint32_t landing_ = 0;
  std::uint32_t reading_ = 0;
};

}  // namespace millrace::agent
