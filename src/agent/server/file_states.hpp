// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/core/core.hpp"
#include "transport/layout.hpp"

namespace millrace::agent {

// Keeps the ranks' view of every file (FileState in the agent page) true to Core. The dance of `dirty`:
//
//   rank:   publish records; if dirty != 1 then dirty = 1
//   agent:  dirty: 1 -> 2; drain all rings; ... when Core holds nothing of the file: 2 -> 0, unless a rank
//           has made it 1 meanwhile
//
// All of it sequentially consistent: either the agent's drain sees the records, or the rank's 1 survives.
// A rank that reads 0 therefore finds every byte that was written before in the file system. The same holds
// for each place of a file: `fresh` -> `held` before the drain, `held` -> nothing when Core holds nothing.
class FileStates {
 public:
  explicit FileStates(transport::AgentPage& page) : page_(page) {}

  // `number`: transport::file_number().
  void opened(FileSlot file, std::uint64_t number, const transport::Routing& routing, const Core& core);
  void closed(FileSlot file);
  bool in_use(FileSlot file) const { return file < slots_.size() && slots_[file].opens > 0; }
  // A checksum did not hold: every rank is to know, whatever Core says.
  void damaged(FileSlot file);
  Status status(FileSlot file, Status fallback) const;

  // Around a drain of all rings.
  void begin_drain();
  void end_drain();
  // Tells the ranks what Core says now.
  void refresh(const Core& core);

 private:
  struct Slot {
    std::uint32_t opens = 0;
    bool damaged = false;
    bool draining = false;  // the page says state_draining
    bool drained = false;   // and a whole drain has passed since
    bool told = false;      // an error stands in the page
  };
  void tell(FileSlot file, Status status);

  transport::AgentPage& page_;
  std::vector<Slot> slots_;
};

}  // namespace millrace::agent
