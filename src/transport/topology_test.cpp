// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/topology.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace millrace::transport {
namespace {

std::vector<TcpAddress> addresses(std::uint32_t nodes) {
  std::vector<TcpAddress> all(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) all[i] = {{10, 0, 0, static_cast<std::uint8_t>(i)}, 1000, 0};
  return all;
}

TEST(Chain, GoesThroughAllNodesOnceAndEachKeepsACopy) {
  for (std::uint32_t nodes = 2; nodes <= 9; ++nodes) {
    std::vector<TcpAddress> all(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) all[i] = {{10, 0, 0, static_cast<std::uint8_t>(i)}, 1000, 0};
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const Routing routing = chain_of(all, node);
      EXPECT_EQ(routing.lanes, 1u);
      EXPECT_EQ(routing.hops[0].keeps, 1u);
      EXPECT_EQ(routing.hops[0].upstreams, node == 0 ? 0u : 1u);
      EXPECT_EQ(routing.hops[0].next.port != 0, node + 1 < nodes);
      if (node + 1 < nodes) {
        EXPECT_EQ(routing.hops[0].node, node + 1);
      }
    }
  }
}

class Routes : public ::testing::TestWithParam<Topology> {};

TEST_P(Routes, EveryNodeReachesEveryFileServer) {
  for (std::uint32_t nodes = 2; nodes <= 20; ++nodes) {
    for (std::uint32_t lanes = 1; lanes <= nodes; ++lanes) {
      const RoutePlan plan{GetParam(), lanes, MiB, nodes / 2};
      std::set<std::uint32_t> servers;
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const std::uint32_t server = file_server(plan, nodes, lane);
        ASSERT_LT(server, nodes);
        servers.insert(server);
        for (std::uint32_t node = 0; node < nodes; ++node) {
          std::uint32_t at = node;
          for (std::uint32_t hops = 0; at != server; ++hops) {
            ASSERT_LT(hops, nodes) << "a loop";
            at = next_node(plan.topology, nodes, at, server);
          }
        }
      }
      EXPECT_EQ(servers.size(), lanes) << "two lanes share a server though there are nodes left";
    }
  }
}

TEST(Topology, TheNodeWithTheFileIsTheOnlyFileServer) {
  const RoutePlan plan = plan_route_to(2, {}, 4);
  EXPECT_EQ(plan.lanes, 1u);
  EXPECT_EQ(file_server(plan, 4, 0), 2u);
  Settings two;
  two.file_servers = 2;
  const RoutePlan wished = plan_route_to(3, two, 4);
  EXPECT_EQ(wished.lanes, 2u);
  EXPECT_EQ(file_server(wished, 4, 0), 3u);
  EXPECT_EQ(file_server(wished, 4, 1), 1u);
}

TEST_P(Routes, NextHopsAndUpstreamsAreTheSameEdges) {
  for (const auto& [nodes, lanes] : {std::pair(2u, 1u), {4u, 1u}, {4u, 2u}, {7u, 3u}, {16u, 16u}}) {
    const RoutePlan plan{GetParam(), lanes, 4 * MiB};
    const auto all = addresses(nodes);
    std::vector<Routing> routings;
    for (std::uint32_t node = 0; node < nodes; ++node) routings.push_back(routing_of(plan, all, node));
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      std::vector<std::uint32_t> upstreams(nodes);
      std::uint32_t servers = 0;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        const Hop& hop = routings[node].hops[lane];
        if (hop.next.port == 0) {
          ++servers;
          EXPECT_EQ(node, file_server(plan, nodes, lane));
        } else {
          EXPECT_EQ(hop.next, all[hop.node]);
          ++upstreams[hop.node];
        }
      }
      EXPECT_EQ(servers, 1u);
      for (std::uint32_t node = 0; node < nodes; ++node)
        EXPECT_EQ(routings[node].hops[lane].upstreams, upstreams[node]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Routes, ::testing::Values(Topology::ring, Topology::tree, Topology::direct));

TEST(Routes, ARingHasOneUpstreamPerLaneAndNode) {
  const RoutePlan plan{Topology::ring, 1, MiB};
  const auto all = addresses(5);
  EXPECT_EQ(routing_of(plan, all, 0).hops[0].upstreams, 1u);
  EXPECT_EQ(routing_of(plan, all, 3).hops[0].node, 2u);
  EXPECT_EQ(routing_of(plan, all, 4).hops[0].upstreams, 0u) << "the far end of the chain";
}

TEST(Routes, MoreServersThanNodesAreAsManyAsNodes) {
  Settings settings;
  settings.file_servers = 60;
  EXPECT_EQ(plan_route(settings, 4).lanes, 4u);
  settings.file_servers = 1;
  EXPECT_EQ(plan_route(settings, 4).lanes, 1u);
  settings.file_servers.reset();
  EXPECT_EQ(plan_route(settings, 3).lanes, 3u);
  EXPECT_EQ(plan_route(settings, 100).lanes, 4u);
}

TEST(Routes, ManyNodesHaveATreeBecauseAServerHasALinkOfEachOtherwise) {
  Settings settings;
  EXPECT_EQ(plan_route(settings, 512).topology, Topology::direct);
  EXPECT_EQ(plan_route(settings, 513).topology, Topology::tree);
  settings.topology = Topology::direct;
  EXPECT_EQ(plan_route(settings, 16384).topology, Topology::direct) << "as wished";
}

TEST(Routes, StripesAreTheFilesOwnElseOfABuiltInSize) {
  Settings settings;
  EXPECT_EQ(plan_route(settings, 4).stripe_bytes, 4 * MiB);
  EXPECT_EQ(plan_route(settings, 4, 16 * MiB).stripe_bytes, 16 * MiB);
}

}  // namespace
}  // namespace millrace::transport
