// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/settings.hpp"
#include "transport/tcp.hpp"

// The way of one file's records between nodes. The ranks agree on it at the open. Stripe i of the file is in
// lane i modulo `lanes`. Each lane has one file server. Each agent passes the lane's records on to the next
// agent towards the file server:
//
//   lane 0:  node 3 -> node 2 -> node 1 -> node 0 -> file        (ring)
//   lane 1:  node 0 -> node 3 -> node 2 -> node 1 -> file
//
// A staged file goes the other way, from one node to all nodes. Each node keeps a copy.
//
//   lane 0:  node 0 -> node 1 -> node 2 -> node 3
//              copy      copy      copy      copy
//
namespace millrace::transport {

inline constexpr std::uint32_t max_lanes = 64;

// The part of one node in one lane.
struct Hop {
  TcpAddress next;          // the next agent; port 0: this node is the file server
  std::uint32_t node;       // the index of the next agent's node
  std::uint32_t upstreams;  // the number of agents that pass the lane on to this one
  std::uint32_t keeps;      // 1: this node writes its own copy, even if it passes the lane on
};
static_assert(sizeof(Hop) == 32);

struct Routing {
  std::uint32_t lanes;  // 0: the file is open on one node only, and the other members are not used
  std::uint32_t node;   // index of this node
  std::uint32_t nodes;
  Topology topology;        // for reports
  std::uint32_t stands_in;  // 1: only the file server sees the file; other nodes have a stand-in
  std::uint32_t reserved;
  std::uint64_t stripe_bytes;
  std::array<std::byte, 32> key;  // the secret key of this open
  std::array<Hop, max_lanes> hops;
};
static_assert(std::is_trivially_copyable_v<Routing>);

}  // namespace millrace::transport
