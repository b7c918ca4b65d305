// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "scale.hpp"

#include <algorithm>

namespace millrace::sim {

namespace {

constexpr std::uint64_t piece = 4 * KiB;
constexpr std::uint64_t segment = KiB;
constexpr std::uint64_t memory_bytes_per_second = 4'000'000'000;

std::uint64_t shrunk(std::uint64_t amount, std::uint64_t shrink) {
  return std::max<std::uint64_t>(1, amount / shrink);
}

}  // namespace

Scenario make_scale(const Scale& scale) {
  Scenario made;
  made.seed = 1;
  made.nodes = scale.nodes;
  made.ring_bytes = 64 * KiB;
  made.settings.strategy = Strategy::automatic;
  made.settings.durability = Durability::server;
  made.settings.sort_buffer_bytes = 4 * MiB;
  made.settings.record_max_bytes = piece;
  made.plan = {scale.topology, std::min(scale.lanes, scale.nodes), MiB};
  made.net.rate_bytes_per_second = shrunk(scale.link_bytes_per_second, scale.shrink);
  made.net.latency_ns = 5'000;
  made.net.jitter_ns = 1'000;
  made.net.segment_bytes = segment;
  made.net.send_buffer_bytes = 64 * KiB;
  made.net.window_bytes = 64 * KiB;
  made.disk.rate_bytes_per_second = shrunk(scale.disk_bytes_per_second, scale.shrink);
  made.disk.copy_bytes_per_second = shrunk(memory_bytes_per_second, scale.shrink);
  made.disk.jitter_ns = 1'000;
  made.cpu_bytes_per_second = shrunk(memory_bytes_per_second, scale.shrink);
  const std::uint64_t pieces = shrunk(scale.node_bytes, scale.shrink) / piece;
  made.file_bytes = pieces * piece * scale.nodes;
  made.programs.resize(scale.nodes);
  for (std::uint64_t rank = 0; rank < scale.nodes; ++rank) {
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const std::uint64_t begin = (i * scale.nodes + rank) * piece;
      made.programs[rank].push_back({Step::Kind::write, {begin, begin + piece}});
    }
    made.programs[rank].push_back({Step::Kind::close});
  }
  return made;
}

}  // namespace millrace::sim
