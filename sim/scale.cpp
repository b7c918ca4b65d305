// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "scale.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "ior.hpp"

namespace millrace::sim {

namespace {

constexpr std::uint64_t segment = 8 * KiB;
constexpr std::uint64_t light = 256;  // the most bytes of an answer, a ping or a part of a handshake
constexpr std::uint64_t patience_ns = 8'000'000'000'000;
constexpr std::uint64_t memory_bytes_per_second = 4'000'000'000;

std::uint64_t shrunk(std::uint64_t amount, std::uint64_t shrink) {
  return std::max<std::uint64_t>(1, amount / shrink);
}

}  // namespace

Scenario make_scale(const Scale& scale) {
  Scenario made;
  made.seed = 1;
  made.nodes = scale.nodes;
  made.ranks.ring_bytes = 64 * KiB;
  made.most_steps = 4'000'000'000;
  // `auto` holds back 4 MiB of the records that an agent passes on. That is little beside many GiB, but it
  // would be all of the simulated bytes.
  made.settings.strategy = Strategy::immediate;
  made.settings.durability = Durability::server;
  made.settings.sort_buffer_bytes = 4 * MiB;
  made.settings.record_max_bytes = 4 * KiB;
  // A stripe holds at least one piece of each node. With smaller stripes all pieces of a node could go to the
  // same file server, which never happens with thousands of stripes.
  const std::uint64_t stripe = std::max(MiB, std::bit_ceil(scale.nodes * scale.piece_bytes));
  made.plan = {scale.topology, std::min(scale.lanes, scale.nodes), stripe};
  // A few simulated bytes take a long time, so a slow peer must not count as lost.
  made.agents.times = {patience_ns, patience_ns, patience_ns / 8};
  made.ranks.patience_ns = patience_ns;
  made.ranks.slice_ms = patience_ns / 256 / 1'000'000;
  made.agents.share_every_ns = patience_ns / 256;
  made.net.rate_bytes_per_second = scale.link_bytes_per_second;
  made.net.stands_for = scale.shrink;
  made.net.light_bytes = light;
  made.net.latency_ns = 5'000;
  made.net.jitter_ns = 1'000;
  made.net.segment_bytes = segment;
  made.net.send_buffer_bytes = 16 * KiB;
  made.net.window_bytes = 16 * KiB;
  made.disk.rate_bytes_per_second = shrunk(scale.disk_bytes_per_second * made.plan.lanes, scale.shrink);
  made.disk.copy_bytes_per_second = shrunk(memory_bytes_per_second * made.plan.lanes, scale.shrink);
  made.disk.cache_bytes = shrunk(64 * MiB, scale.shrink) * made.plan.lanes;
  made.disk.seek_ns = 0;
  made.disk.jitter_ns = 1'000;
  made.agents.cpu_bytes_per_second = shrunk(memory_bytes_per_second, scale.shrink);
  made.costs.net_byte_ps = scale.net_byte_ps;
  const std::uint64_t piece = scale.piece_bytes;
  const std::uint64_t pieces = std::max<std::uint64_t>(1, scale.node_bytes / scale.shrink / piece);
  Ior ior;
  ior.transfer = ior.block = piece;
  ior.segments = pieces;
  ior.syncs = false;
  ior.machine = std::move(made);
  return make_ior(ior);
}

}  // namespace millrace::sim
