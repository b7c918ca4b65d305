// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "agent/pipeline/file_pipeline.hpp"
#include "agent/requests/requests.hpp"

namespace millrace::agent {

// Raised when a field changes its meaning or is removed. A new field does not raise it.
inline constexpr int report_schema = 1;

// The lane's place in the file's route.
struct LaneNumber {
  std::uint32_t lane;
  std::uint32_t lanes;
  std::uint32_t node = 0;
  std::uint32_t nodes = 1;
  Topology topology = Topology::automatic;
};

// The statistics of one lane of a file, as one line of JSON.
std::string make_report(const std::string& path, const FileSettings& asked, const FilePipeline& pipeline,
                        const Requests& requests, const BlockPool& pool, LaneNumber number,
                        const std::string& ledger_problem = {});

}  // namespace millrace::agent
