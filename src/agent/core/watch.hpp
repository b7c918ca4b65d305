// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/core/core.hpp"
#include "agent/pipeline/file_pipeline.hpp"
#include "agent/requests/requests.hpp"

namespace millrace::agent {

// Watches one lane of a file. Writes lines about a request that takes long, for a progress bar, and spans of
// phases, for a trace. Changes nothing else. Owned by the lane. Not thread safe.
class Watch {
 public:
  // Called once per advance(), if lines are on.
  void tell(std::uint64_t now_ns, const std::string& path, const FilePipeline& pipeline,
            const Requests& requests, std::vector<std::string>& lines);
  // Called once per advance(), if a trace is on.
  void look(std::uint64_t now_ns, const std::string& path, const FilePipeline& pipeline,
            const Requests& requests, const Reads* reads, std::vector<Span>& spans);
  // Ends all open spans.
  void end(const std::string& path, std::vector<Span>& spans);
  // The time of the next line, even if nothing happens; UINT64_MAX: never.
  std::uint64_t next_deadline_ns() const { return next_line_ns_; }

 private:
  struct Open {
    std::uint64_t begin_ns = 0;  // 0: none
    std::uint64_t last_ns = 0;   // the last time at which the lane was in this phase
    std::uint64_t bytes = 0;
    std::uint64_t count_before = 0;
    bool was_so = false;
  };
  void follow(Phase phase, bool now_so, std::uint64_t count, std::uint64_t now_ns, const std::string& path,
              std::vector<Span>& spans);
  void close(Phase phase, const std::string& path, std::vector<Span>& spans);

  std::uint64_t asked_ns_ = 0;  // the begin of the requests' wait; 0: there is none
  std::uint64_t next_line_ns_ = UINT64_MAX;
  std::uint64_t bytes_before_ = 0;
  bool told_ = false;
  std::array<Open, phase_count> open_;
};

}  // namespace millrace::agent
