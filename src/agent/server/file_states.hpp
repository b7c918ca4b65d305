// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "agent/core/core.hpp"
#include "transport/layout.hpp"

namespace millrace::agent {

// Keeps the ranks' view of every file (FileState in the agent page) true to Core. The states of `dirty` are
// 0 clean, 1 dirty and 2 draining:
//
//   rank:   publish records; if dirty != 1 then dirty = 1
//   agent:  dirty: 1 -> 2; drain all rings; ... if Core has no bytes of the file: 2 -> 0, unless a rank has
//           made it 1 meanwhile
//
// All accesses are sequentially consistent: either the agent's drain sees the records, or the rank's 1
// survives. If a rank reads 0, all bytes that were written before are in the file system. The bits for places
// of the file work in the same way: `fresh` -> `held` before the drain, and `held` -> 0 when Core has no
// bytes.
class FileStates {
 public:
  explicit FileStates(transport::AgentPage& page) : page_(page) {}

  void opened(FileSlot file, const transport::FileNumbers& numbers, const transport::Routing& routing,
              const Core& core);
  void closed(FileSlot file);
  bool in_use(FileSlot file) const { return file < slots_.size() && slots_[file].opens > 0; }
  // A record did not match its checksum. All ranks get the error, although Core has none.
  void damaged(FileSlot file);
  // The answer for the ranks: `fallback`, but Code::corrupt if that is ok and the file is damaged().
  Status status(FileSlot file, Status fallback) const;

  // Called before and after a drain of all rings.
  void begin_drain();
  void end_drain();
  // True if the storage or the next agent had a request of some file at the last refresh().
  bool waits() const { return waits_; }
  // Shows Core's errors, its pending bytes and the silence of its file systems to the ranks.
  void refresh(const Core& core);
  // Shows the news to the ranks. Each line waits until a rank has taken the one before it.
  void tell(const Core::News& news);

 private:
  struct Slot {
    std::uint32_t opens = 0;
    bool damaged = false;
    bool draining = false;  // the page says state_draining
    bool drained = false;   // a whole drain has passed since
    bool told = false;      // the page has an error
    bool named = false;     // the page has named it as the file that a file system keeps waiting
  };
  void tell(FileSlot file, Status status);
  void listen(const Core& core);
  void name(const Core::Look& file);

  transport::AgentPage& page_;
  static constexpr std::size_t most_lines = 64;
  std::vector<Slot> slots_;
  std::deque<std::string> lines_;
  bool waits_ = false;
};

}  // namespace millrace::agent
