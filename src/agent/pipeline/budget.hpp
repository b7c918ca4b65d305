// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace millrace::agent {

// Says who may take memory of the agent's pool. All that the agent does with memory asks here: no other place
// holds something back because memory is short. ADR 22 proves that agents which ask here never wait for each
// other in a circle.
//
// The pool's blocks, from the view of one round:
//
//   | in use, and not on the way out | leaving | free                                   |
//                                    |         | reserved | for whoever asks first      |
//                                    |<------ window: departures are started below it -->|
//
// reserved  what lanes that agents feed may still take of their share, and what a chunk that comes back from
// the journal
//           needs until it is whole
// share     blocks that each lane which agents feed can have, however full the others are
// landing   a chunk that comes back from the journal to be written here: one that is only passed on leaves
// room for it
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
  // One lane of one file, as the round begins.
  struct Lane {
    bool fed;              // agents upstream send it records
    std::uint32_t in_use;  // blocks that it holds, on their way out or not
    std::uint32_t due;     // blocks that the chunk which comes back may still need
    bool lands;            // it has chunks in the journal that are to be written here
  };

  // `all`: the empty pool. `spans`: the most blocks that one record touches. `slots`: blocks of a chunk.
  // `window`: see above.
  void resize(Supply all, std::uint32_t spans, std::uint32_t slots, std::uint32_t window);
  // Counts anew what is reserved. False: there are too many lanes that agents feed.
  bool recount(std::span<const Lane> lanes);

  // --- Who may take memory: `free` is what is free now ---

  // A record of a rank of this node.
  bool grants_rank(Supply free) const { return has_record(free, reserved_); }
  // A record of an agent upstream, if a rank's would not be granted: from the share of its lane, which has
  // `in_use` blocks.
  bool grants_share(Supply free, std::uint32_t in_use) const {
    return in_use + spans_ <= share_ && has_record(free, 0);
  }
  // A whole chunk begins to come back from the journal, to be passed on or to be written here.
  bool grants_return(Supply free, bool passed_on) const {
    return has_chunk(free, slots_ + reserved_ + (passed_on ? landing_ : 0));
  }
  // The chunk that comes back takes what it still needs: `due` blocks, which have been kept for it.
  bool grants_rest(Supply free, std::uint32_t due) const { return has_chunk(free, due); }

  // --- Who has to go ---

  // Departures have to start: too little is free or on its way out.
  bool wants_departures(Supply free) const;
  // The window is about to be touched: a record may wait a little if others need it more (see
  // Requests::ahead).
  bool short_of_blocks(Supply free) const { return free.blocks < window_ + reserved_ + spans_; }
  // The write path asks this for each record: a round is due.
  bool below_window(std::uint32_t free_blocks) const { return free_blocks + leaving_ < window_; }
  // More leaves than keeps the storage busy.
  bool leaves_plenty() const { return leaving_ > window_; }

  // --- How many blocks wait for their neighbours in the file: parts of the window ---

  // A lane that passes its bytes on keeps no more. The neighbours may be on other nodes, and the time of an
  // idle link is lost.
  std::uint32_t passed_on_above() const { return window_ / 4; }
  // A sync waits for ranks that have not come, if it would leave so many without their neighbours.
  std::uint32_t worth_gathering() const { return window_ / 2; }
  // The agent holds ranks back each time that so many more wait. In a small buffer, other chunks soon have to
  // leave for new records then, whether or not they are complete.
  std::uint32_t worth_holding_back() const { return std::min(all_.blocks / 2, 3 * window_); }

  // --- What happened between two counts ---

  void starts_to_leave(std::uint32_t blocks) { leaving_ += blocks; }
  // The blocks are free again. Until the next count they belong to the lane that had them.
  void has_left(std::uint32_t blocks) {
    leaving_ -= blocks;
    reserved_ += blocks;
  }
  // The chunk that comes back needs more blocks than at the last count.
  void owes(std::uint32_t blocks) { reserved_ += blocks; }

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
};

}  // namespace millrace::agent
