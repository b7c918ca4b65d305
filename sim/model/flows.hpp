// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/virtual/station.hpp"

// Ranks move data through stations that they share: links, engines, processors, disks.
namespace millrace::model {

// A piece's use of one station.
struct Use {
  std::size_t station;
  std::uint64_t bytes;
  std::uint64_t extra_ns;
};

// A stage ends when all of its uses have ended: one piece may be on several links at once. A step's stages
// follow one another, in each repetition of the step.
using Stage = std::vector<Use>;
struct Step {
  std::uint64_t times = 1;
  std::vector<Stage> stages;
};

struct Flow {
  std::uint32_t ranks = 1;
  std::vector<Step> steps;
};

struct NamedStation {
  std::string name;
  io::StationOptions options;
};

struct FlowPlan {
  std::vector<NamedStation> stations;
  std::vector<Flow> flows;
};

struct StationUse {
  std::string name;
  std::uint64_t busy_ns;
  std::uint64_t bytes;
  std::uint32_t slots;
};

struct FlowResult {
  std::uint64_t end_ns = 0;                // of the last rank
  std::vector<std::uint64_t> rank_end_ns;  // in the order of the plan
  std::vector<StationUse> stations;
  std::uint64_t events = 0;
};

// All ranks begin at once.
FlowResult run(const FlowPlan& plan);

}  // namespace millrace::model
