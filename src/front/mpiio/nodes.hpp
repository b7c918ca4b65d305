// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/settings.hpp"
#include "client/route.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// A number for this node: ranks with the same one reach the same agent.
std::uint64_t node_number();

// What the ranks of a file that several nodes have open agree on.
struct Meeting {
  client::Routing routing;    // as this rank's node sees it
  std::uint32_t members = 0;  // ranks on this node
  FileSettings settings;      // of rank 0, for all
};

// Every node's agent is started and told to the others; each rank then knows its agent's part of the route.
// False, on all ranks alike, if there is no such way: an agent that can't be reached, a file that is not the
// same everywhere, or `settings` of rank 0 that do not want it. Collective; all ranks have found before that
// they are on several nodes.
bool meet_nodes(MPI_Comm comm, const std::string& path, const Settings& settings, Meeting& meeting);

// True if `mine` is true on every rank of the communicator. Collective.
bool all_of(MPI_Comm comm, bool mine);

}  // namespace millrace::front
