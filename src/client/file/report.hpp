// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "client/costs/costs.hpp"
#include "client/costs/reasons.hpp"
#include "client/way/read_ahead.hpp"
#include "transport/frame.hpp"

namespace millrace::client {

// The report of one open file of this process, at its close.
struct FileReport {
  std::string path;
  Ground pipeline;  // the last ones; without a reason: this way was never taken
  Ground direct;
  Ground read_through;
  Ground read_direct;
  bool costs_measured = false;
  Strategy strategy = Strategy::automatic;
  transport::ClientCounters counters{};
  std::uint64_t flushes = 0;
  std::uint64_t reads = 0;  // of the direct calls
  std::uint64_t read_bytes = 0;
  ReadCounters through = {};  // of these: what the agents have brought
  Status status;
  Expected expected = {};   // of all its transfers, for either way
  std::uint64_t group = 0;  // of the open
};

// One JSON document without newlines: schema 1, kind "client".
std::string to_json(const FileReport& report);

}  // namespace millrace::client
