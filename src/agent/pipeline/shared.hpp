// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "agent/pipeline/block_pool.hpp"
#include "io/storage.hpp"
#include "sink/meter.hpp"

namespace millrace::agent {

// A request that waits for departures.
using WaiterId = std::uint32_t;
inline constexpr WaiterId no_waiter = 0;

// What all files of one agent have in common.
struct Shared {
  io::Storage& storage;
  std::string journal_directory;
  std::unique_ptr<BlockPool> pool = {};  // while any file is open
  std::uint32_t record_max_bytes = 0;    // of all open files
  std::uint32_t leaving_blocks = 0;      // on their way out
  std::uint32_t window_blocks =
      0;                          // free + leaving blocks are kept at this, so that the storage never starves
  bool advance_wanted = false;    // advance() has something to start, or has to make room first
  std::uint32_t next_owner = 1;   // of sinks and journals
  std::uint32_t lane_blocks = 0;  // that a lane with agents upstream gets, whatever others hold
  std::uint32_t reserved_blocks = 0;  // ... and that such lanes do not hold at present
  // Blocks for a chunk that comes back from a journal and is written here. A chunk that comes back to be
  // passed on leaves them alone: records of other agents may wait for the chunk that is written here.
  std::uint32_t landing_blocks = 0;
  bool ledger_full = false;                       // a ledger can take no record now
  std::uint64_t write_within_ns = 5'000'000'000;  // how long a byte may be here, and nowhere else
  std::uint64_t now_ns = 0;
  std::map<std::uint64_t, sink::Meter> meters = {};  // by device

  // There is memory for a record, whatever its file.
  bool ready() const {
    return !pool || (!advance_wanted && pool->has_room(record_max_bytes, reserved_blocks));
  }
};

}  // namespace millrace::agent
