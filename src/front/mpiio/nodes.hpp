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

// A number for this node: ranks with the same number reach the same agent.
std::uint64_t node_number();

// A rank as the other ranks see it. Sent as bytes: all ranks run the same build.
struct Peer {
  std::uint64_t node;
  std::uint64_t inode;         // of the file, as this node sees it; 0: it does not see the file
  std::uint64_t probed;        // the result of an earlier probe: see find_out()
  std::uint64_t alone;         // 1: it has a handle of the file without ranks of other nodes
  client::AgentAddress agent;  // port 0: not known
};

// Rank 0's decision for all ranks.
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

// This rank for the others, with its agent's address if an earlier file has asked for that. `alone`: its part
// of Apart::alone.
Peer describe_self(std::uint64_t inode, const Settings& settings, bool alone);
// Called on rank 0, for all ranks.
Decision decide(const std::string& path, const Settings& settings);

// The agreement of the ranks of a file that several nodes have open.
struct Meeting {
  client::Routing routing;    // as this rank's node sees it
  std::uint32_t members = 0;  // ranks on this node
  FileSettings settings;      // of rank 0, for all
  bool first_of_node = false;
};

// Why a file that ranks of several nodes open is left to the MPI library, by all of them.
enum class Apart {
  no,  // the nodes work together
  by_setting,
  other_file,   // the nodes do not see the same file
  no_address,   // of some node's agent
  alone,        // a rank has it open with ranks of its own node only
  unreachable,  // some agent, for another one
  refused,      // by some agent
  left_before,  // another handle is
};

// Starts the agents that `peers` (of all ranks) do not name yet, and tells all ranks their addresses. Each
// rank then knows its agent's part of the route. The answer is the same on all ranks. Collective; all ranks
// know already that they are on several nodes.
Apart meet_nodes(MPI_Comm comm, std::vector<Peer>& peers, const Decision& decision, Meeting& meeting);

// The reason, for reports.
const char* why(Apart apart);
// Prints one line on stderr for each reason, about the first such file. Prints none if the user asked for it.
void tell(Apart apart, const std::string& path, const FileSettings& settings);

// True if `mine` is true on every rank of the communicator. Collective.
bool all_of(MPI_Comm comm, bool mine);

}  // namespace millrace::front
