// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/topology.hpp"

// Routes between nodes, for front ends.
namespace millrace::client {

using transport::chain_of;
using transport::file_server;
using transport::next_node;
using transport::plan_route;
using transport::plan_route_to;
using transport::RoutePlan;
using transport::Routing;
using transport::routing_of;
using AgentAddress = transport::TcpAddress;

}  // namespace millrace::client
