// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/topology.hpp"

#include <algorithm>

namespace millrace::transport {

namespace {

constexpr std::uint64_t stripe_default = 4 * MiB;
// All nodes see the file, so each can be a file server. More file servers use the bandwidth of more links.
// But then the parts of the file at each server are further apart, and each link carries fewer records.
constexpr std::uint32_t servers_default = 4;
// With `direct`, a file server has a link from every node, each with a receive buffer of 2 MiB. With more
// nodes than this, the buffers take more than a GiB, and a tree is nearly as fast (docs/results/scale.md).
constexpr std::uint32_t direct_most_nodes = 512;

}  // namespace

RoutePlan plan_route(const Settings& settings, std::uint32_t nodes, std::uint64_t file_stripe_bytes) {
  RoutePlan plan;
  plan.lanes = std::min({settings.file_servers.value_or(servers_default), nodes, max_lanes});
  // In a ring, every link and every agent carries most of the file. In a tree, every byte crosses several
  // links. Both save links of the file servers, but a few links cost little.
  const Topology best = nodes <= direct_most_nodes ? Topology::direct : Topology::tree;
  plan.topology = settings.topology == Topology::automatic ? best : settings.topology;
  plan.stripe_bytes = file_stripe_bytes == 0 ? stripe_default : file_stripe_bytes;
  return plan;
}

RoutePlan plan_route_to(std::uint32_t holder, const Settings& settings, std::uint32_t nodes) {
  RoutePlan plan = plan_route(settings, nodes);
  if (!settings.file_servers) plan.lanes = 1;
  plan.first_server = holder;
  return plan;
}

std::uint32_t file_server(const RoutePlan& plan, std::uint32_t nodes, std::uint32_t lane) {
  return static_cast<std::uint32_t>((plan.first_server + std::uint64_t{lane} * nodes / plan.lanes) % nodes);
}

std::uint32_t next_node(Topology topology, std::uint32_t nodes, std::uint32_t node, std::uint32_t server) {
  switch (topology) {
    case Topology::ring:
      return (node + nodes - 1) % nodes;
    case Topology::tree: {
      const std::uint32_t place = (node + nodes - server) % nodes;  // the server has place 0
      return ((place - 1) / 2 + server) % nodes;
    }
    case Topology::automatic:
    case Topology::direct:
      break;
  }
  return server;
}

Routing routing_of(const RoutePlan& plan, std::span<const TcpAddress> addresses, std::uint32_t node) {
  const auto nodes = static_cast<std::uint32_t>(addresses.size());
  Routing routing{};
  routing.lanes = plan.lanes;
  routing.node = node;
  routing.nodes = nodes;
  routing.topology = plan.topology;
  routing.stripe_bytes = plan.stripe_bytes;
  for (std::uint32_t lane = 0; lane < plan.lanes; ++lane) {
    const std::uint32_t server = file_server(plan, nodes, lane);
    Hop& hop = routing.hops[lane];
    if (node != server) {
      hop.node = next_node(plan.topology, nodes, node, server);
      hop.next = addresses[hop.node];
    }
    for (std::uint32_t other = 0; other < nodes; ++other) {
      if (other != server && next_node(plan.topology, nodes, other, server) == node) ++hop.upstreams;
    }
  }
  return routing;
}

Routing chain_of(std::span<const TcpAddress> addresses, std::uint32_t node) {
  const auto nodes = static_cast<std::uint32_t>(addresses.size());
  Routing routing{};
  routing.lanes = 1;
  routing.node = node;
  routing.nodes = nodes;
  routing.topology = Topology::ring;
  Hop& hop = routing.hops[0];
  hop.upstreams = node > 0 ? 1 : 0;
  hop.keeps = 1;
  if (node + 1 < nodes) {
    hop.node = node + 1;
    hop.next = addresses[hop.node];
  }
  return routing;
}

}  // namespace millrace::transport
