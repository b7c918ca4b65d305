// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "journal/format.hpp"
#include "transport/ring.hpp"

namespace millrace::client {

// A file with strategy journal, whose records have to survive the agent's death, and its slot in the ring.
struct Protected {
  std::uint32_t file;
  journal::Identity identity;                          // for the log of the rescue
  journal::Writers writers = journal::Writers::owner;  // beside this rank
  std::uint32_t opens = 1;                             // of this rank
};

// The protected files of a session, by slot. Not thread safe.
class ProtectedFiles {
 public:
  // A file replaces an earlier file with its slot. Otherwise its records would be saved as those of the
  // earlier file.
  void add(Protected file) {
    for (Protected& one : files_) {
      if (one.file == file.file && one.identity.target == file.identity.target) {
        ++one.opens;
        return;
      }
    }
    std::erase_if(files_, [&file](const Protected& one) { return one.file == file.file; });
    files_.push_back(std::move(file));
  }
  // The agent has answered a close: all records of this open are safe, and another file may get the slot.
  void end(std::uint32_t file) {
    std::erase_if(files_, [file](Protected& one) { return one.file == file && --one.opens == 0; });
  }
  std::vector<Protected> take() { return std::exchange(files_, {}); }

 private:
  std::vector<Protected> files_;
};

// Call it after the agent has gone. The ring still has the file's records that the agent has not released.
// The function writes them to a log beside the file's ledger, for `millrace recover`. Ok if there are no such
// records. `alive_ns`: the agent's last sign of life (AgentPage). This rank may notice its death long after,
// and whoever has changed the file meanwhile has newer bytes.
Status rescue(const transport::Producer& ring, const Protected& file, const std::string& directory,
              std::uint64_t alive_ns);

}  // namespace millrace::client
