// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "journal/format.hpp"
#include "transport/channel.hpp"

namespace millrace::client {

// A file whose records outlive the agent (strategy journal), by its number in the ring.
struct Protected {
  std::uint32_t file;
  journal::Identity identity;  // of a rescue
};

// The agent has gone: the records of a file that the agent had not given back go to a log beside its ledger,
// for `millrace recover`. Ok if there were none.
Status rescue(const transport::Producer& ring, const Protected& file, const std::string& directory);

}  // namespace millrace::client
