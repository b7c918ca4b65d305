// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::sim {

// The processor time of a run's processes, in picoseconds, beside Scenario::cpu_bytes_per_second.
struct Costs {
  std::uint32_t cores = 0;      // that all nodes share, as a virtual cluster's do; 0: each agent has its own
  std::uint64_t record_ps = 0;  // an agent takes a record from a ring or a link
  std::uint64_t net_byte_ps = 0;     // an agent sends or receives a byte, kernel, tag and checksum included
  std::uint64_t disk_byte_ps = 0;    // ... writes it, into the kernel's cache
  std::uint64_t rank_record_ps = 0;  // a rank puts a record into its ring
  std::uint64_t rank_byte_ps = 0;    // ... and a byte
};

// Processors that all processes of a run share. Work goes to the processor that is free first.
class Processors {
 public:
  explicit Processors(std::uint32_t cores) : free_ns_(cores, 0) {}

  // Takes a processor for work of this length, and returns the time of its end.
  std::uint64_t take(std::uint64_t now_ns, std::uint64_t work_ns) {
    if (free_ns_.empty()) return now_ns + work_ns;
    std::uint64_t& first = *std::ranges::min_element(free_ns_);
    first = std::max(first, now_ns) + work_ns;
    return first;
  }

 private:
  std::vector<std::uint64_t> free_ns_;  // when each processor is free
};

}  // namespace millrace::sim
