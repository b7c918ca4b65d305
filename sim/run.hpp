// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenario.hpp"

namespace millrace::sim {

struct Outcome {
  std::vector<std::string> problems;  // the broken promises, and where they broke; empty: all hold
  std::uint64_t hash = 0;             // of the trace, without the recoveries after the end of all agents
  std::uint64_t events = 0;
  std::uint64_t virtual_ns = 0;   // until the last rank had closed
  std::uint64_t moved_bytes = 0;  // over the network
  std::uint32_t errors = 0;       // ranks that got an error
  std::uint32_t ranks = 0;
  std::uint32_t copies = 0;        // of staged files that ranks have and have read
  std::uint64_t through = 0;       // reads through the agents
  std::vector<std::string> trace;  // if kept
};

// Runs a scenario to its end and checks whether the promises hold:
//
//   - no byte that a successful sync or close covers is lost, none is wrong, the later of two writes is there
//   - reads after a flush see what the rank wrote
//   - every request is answered, every rank and agent ends; no rank sees an error unless something failed
//   - a rank with a staged file reads the bytes of the time of its stamp; unless something failed, every rank
//     gets the file; copies go when no rank has them open
//   - reads through the agents see what the last sync, collective function or write of their rank promises;
//     without a fault they do not fail, and no fault makes a rank see an error while nobody writes
//   - no memory changes while it is written, no two writes in flight overlap, and the writes in flight are
//     smaller than the agent's buffers
Outcome run(const Scenario& scenario, bool keep_trace = false);

}  // namespace millrace::sim
