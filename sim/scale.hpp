// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "scenario.hpp"

namespace millrace::sim {

// A machine of many nodes, with one rank on each. The ranks write interleaved pieces of one file, and close.
struct Scale {
  std::uint32_t nodes = 1024;
  std::uint64_t node_bytes = GiB;
  // A simulated byte stands for this many bytes. Memory, work and rates become smaller by this factor, and
  // times stay the same. Latencies, handshakes, requests and answers stay the same too. So does the agent's
  // memory, which is therefore larger than on the real machine, by this factor.
  std::uint64_t shrink = 4096;
  std::uint64_t piece_bytes = 4 * KiB;  // simulated bytes
  Topology topology = Topology::direct;
  std::uint32_t lanes = 4;
  std::uint64_t link_bytes_per_second = 1'250'000'000;
  std::uint64_t disk_bytes_per_second = 5'000'000'000;  // of each file server
  std::uint64_t net_byte_ps = 750;  // of an agent's processor, for each byte sent or received
};

Scenario make_scale(const Scale& scale);

}  // namespace millrace::sim
