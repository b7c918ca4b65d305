// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "client/costs/reasons.hpp"
#include "client/file/file.hpp"
#include "client/way/read_ahead.hpp"
#include "transport/frame.hpp"

namespace millrace::client {

// The report of one open file of this process, at its close.
struct FileReport {
  const OpenRequest& request;
  const CallCounts& counts;
  Reason barred;  // why the open could not take the pipeline, for good
  const transport::ClientCounters& counters;
  ReadCounters through;  // of counts.reads: what the agents have brought
  Status status;
  bool registered;  // with the agent, which then reports too
};

// One JSON document without newlines: schema 1, kind "client".
std::string to_json(const FileReport& report);

}  // namespace millrace::client
