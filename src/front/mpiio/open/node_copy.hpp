// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "client/open/node_copy.hpp"
#include "front/mpiio/ranks/exchange.hpp"

// client/open/node_copy.hpp for the ranks of a communicator, on this system. Collective.
namespace millrace::front {

using client::StagedCopy;
using client::StagePlan;
using client::StandIn;

inline std::optional<StagedCopy> stage_whole(MPI_Comm comm, const StagePlan& plan) {
  MpiTeam team(comm);
  return client::stage_whole(team, client::own_place(), plan);
}

inline std::optional<StandIn> stand_in(MPI_Comm comm, const StagePlan& plan) {
  MpiTeam team(comm);
  return client::stand_in(team, client::own_place(), plan);
}

}  // namespace millrace::front
