// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "client/file.hpp"
#include "client/route.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// A number for this node: ranks with the same one reach the same agent.
std::uint64_t node_number();

// What a rank tells all others, as bytes: all run the same build.
struct Place {
  std::uint64_t node;
  std::uint64_t inode;         // of the file, as this node sees it; 0: it does not
  std::uint64_t probed;        // what this rank knows of a route: see find_out()
  std::uint64_t alone;         // 1: it has a handle of the file that only ranks of its node share
  client::AgentAddress agent;  // port 0: not known
};

// What rank 0 decides.
struct Decision {
  std::uint64_t wanted;
  std::array<std::byte, 32> key;
  FileSettings settings;
  Topology topology;
  std::uint32_t file_servers;
  std::uint64_t stripe_bytes;
  std::uint64_t file_stripe_bytes;  // of the file system's own; 0: none
  client::KnownCosts costs;
};

// This rank's place; its agent as far as it has met it for an earlier file. `alone`: its part of
// Apart::alone.
Place own_place(std::uint64_t inode, const Settings& settings, bool alone);
// Of rank 0, for all.
Decision decide(const std::string& path, const Settings& settings);

// What the ranks of a file that several nodes have open agree on.
struct Meeting {
  client::Routing routing;    // as this rank's node sees it
  std::uint32_t members = 0;  // ranks on this node
  FileSettings settings;      // of rank 0, for all
  bool first_of_node = false;
};

// Why a file that ranks of several nodes open is left to the MPI library, by all of them.
enum class Apart {
  no,  // it is not: the nodes work together
  by_setting,
  other_file,   // the nodes do not see the same one
  no_address,   // of some node's agent
  alone,        // a rank has it open with ranks of its own node only
  unreachable,  // some agent, for another one
  refused,      // by some agent
  left_before,  // another handle is
};

// Every node's agent is started and told to the others, where `places`, which are those of all ranks, do not
// tell them yet; each rank then knows its agent's part of the route. The same answer on all ranks.
// Collective; all ranks have found before that they are on several nodes.
Apart meet_nodes(MPI_Comm comm, std::vector<Place>& places, const Decision& decision, Meeting& meeting);

// For reports.
const char* why(Apart apart);
// One line on stderr for each reason, about the first such file; none where the user wanted it so.
void tell(Apart apart, const std::string& path, const FileSettings& settings);

// True if `mine` is true on every rank of the communicator. Collective.
bool all_of(MPI_Comm comm, bool mine);

}  // namespace millrace::front
