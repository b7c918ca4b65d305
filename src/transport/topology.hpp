// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "base/settings.hpp"
#include "transport/route.hpp"

// Computes the next agent of each agent. Every node computes the same result.
namespace millrace::transport {

// The plan on which the ranks of an open agree.
struct RoutePlan {
  Topology topology = Topology::direct;  // never `automatic`
  std::uint32_t lanes = 1;               // from 1 to max_lanes, and at most one for each node
  std::uint64_t stripe_bytes = 0;
  std::uint64_t first_server = 0;  // the node that is the file server of lane 0
};

// Makes a plan from the settings, which let the agents work together (joins_nodes). Replaces `auto` by values
// for this number of nodes and the file system's stripe size (0: none).
RoutePlan plan_route(const Settings& settings, std::uint32_t nodes, std::uint64_t file_stripe_bytes = 0);
// The same for a file whose bytes lie on node `holder`: by default, that node alone is the file server.
RoutePlan plan_route_to(std::uint32_t holder, const Settings& settings, std::uint32_t nodes);

// The node that is the file server of a lane. File servers are spread evenly over the nodes.
std::uint32_t file_server(const RoutePlan& plan, std::uint32_t nodes, std::uint32_t lane);

// The next node from `node` towards `server`. `node` must not be `server`.
//
//   ring      the one before, round and round
//   tree      the parent in a binary tree that has the server as its root
//   direct    the server
//
std::uint32_t next_node(Topology topology, std::uint32_t nodes, std::uint32_t node, std::uint32_t server);

// The part of a route that concerns `node`. `addresses` are those of all nodes' agents, by index; at least
// two.
Routing routing_of(const RoutePlan& plan, std::span<const TcpAddress> addresses, std::uint32_t node);

// The route of a staged file, from node 0 to node 1, and so on to the last node. Each node keeps a copy.
Routing chain_of(std::span<const TcpAddress> addresses, std::uint32_t node);

}  // namespace millrace::transport
