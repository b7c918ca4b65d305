// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "agent/pipeline/block_pool.hpp"
#include "agent/pipeline/budget.hpp"
#include "io/storage.hpp"
#include "journal/retirements.hpp"
#include "sink/meter.hpp"

namespace millrace::agent {

// A request that waits for departures.
using WaiterId = std::uint32_t;
inline constexpr WaiterId no_waiter = 0;

// The state that all files of one agent share.
struct Shared {
  io::Storage& storage;
  std::string journal_directory;
  std::unique_ptr<BlockPool> pool = {};  // while any file is open
  std::uint32_t record_max_bytes = 0;    // of all open files
  Budget budget = {};                    // says who may take blocks of the pool
  bool advance_wanted = false;           // advance() has work to start, or has to make room first
  std::uint32_t next_owner = 1;          // number for the next sink, journal or Reads
  journal::Retirements retirements{storage, next_owner};
  bool ledger_full = false;                       // a ledger can take no record now
  std::uint32_t stamp_clock = 0;                  // transport::StampClock of the records' stamps
  std::uint64_t agent = 0;                        // the number of its page
  std::uint64_t write_within_ns = 5'000'000'000;  // the setting write_within (core/expiry.hpp)
  std::uint64_t pool_bound_bytes = UINT64_MAX;    // of the pool, whatever sort_buffer says
  std::uint64_t now_ns = 0;
  std::map<std::uint64_t, sink::Meter> meters = {};  // by device

  // True if there is memory for a record of any file.
  bool ready() const { return !pool || (!advance_wanted && budget.grants_rank(pool->free())); }
};

}  // namespace millrace::agent
