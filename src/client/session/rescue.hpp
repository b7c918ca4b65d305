// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "journal/format.hpp"
#include "transport/ring.hpp"

namespace millrace::client {

// A file with strategy journal, whose records have to survive the agent's death, and its slot in the ring.
struct Protected {
  std::uint32_t file;
  journal::Identity identity;                          // for the log of the rescue
  journal::Writers writers = journal::Writers::owner;  // beside this rank
};

// Call it after the agent has gone. The ring still has the file's records that the agent has not released.
// The function writes them to a log beside the file's ledger, for `millrace recover`. Ok if there are no such
// records. `alive_ns`: the agent's last sign of life (AgentPage). This rank may notice its death long after,
// and whoever has changed the file meanwhile has newer bytes.
Status rescue(const transport::Producer& ring, const Protected& file, const std::string& directory,
              std::uint64_t alive_ns);

}  // namespace millrace::client
