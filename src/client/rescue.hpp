// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "journal/format.hpp"
#include "transport/ring.hpp"

namespace millrace::client {

// A file whose records outlive the agent (strategy journal), with its slot in the ring.
struct Protected {
  std::uint32_t file;
  journal::Identity identity;  // of a rescue
};

// After the agent has gone: writes the file's records that the agent has not given back to a log beside its
// ledger, for `millrace recover`. Ok if there are none.
Status rescue(const transport::Producer& ring, const Protected& file, const std::string& directory);

}  // namespace millrace::client
