// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"
#include "client/costs/cost_record.hpp"
#include "client/file/file.hpp"
#include "client/open/company.hpp"
#include "client/open/route.hpp"

// How the agents of several nodes come to work together on a file.
namespace millrace::client {

// Which reads of a file the agents carry.
enum class Through : std::uint32_t { none, small, all };

// Rank 0's decision for all ranks.
struct Decision {
  std::uint64_t wanted;
  std::array<std::byte, 32> key;
  FileSettings settings;
  Topology topology;
  std::uint32_t file_servers;       // 0: auto
  std::uint64_t file_stripe_bytes;  // the file system's own stripe size; 0: none
  std::uint64_t storage_host;       // as in Sight
  std::uint32_t on_first;           // 1: only rank 0's node sees the file, and is its file server
  Through through;                  // of a file that may be written
  Costs costs;
};

// Rank 0 calls this. The decision has no costs.
Decision decide(Place& place, const Settings& settings, const Sight& sight);

// The agreement between the ranks of a file that several nodes have open.
struct Meeting {
  Routing routing;            // from this rank's node
  std::uint32_t members = 0;  // ranks on this node
  FileSettings settings;      // of rank 0, for all
  bool first_of_node = false;
  bool late =
      false;  // each agent comes with its first rank that needs it, but for the agents that others call
  std::uint64_t route = 0;  // a number for the agents and the way between them
  bool known = false;       // all ranks remember whether all agents of the route reach each other,
  bool reaches = true;      // ... or this rank has tried, for its node
};

// The reason why all ranks leave a file that several nodes open to the MPI library.
enum class Apart {
  no,  // the nodes work together
  by_setting,
  other_file,   // the nodes do not see the same file
  no_address,   // some node's agent has no address
  alone,        // a rank has the file open with ranks of its own node only
  unreachable,  // some agent cannot reach another one
  refused,      // some agent refused the file
  left_before,  // another handle of the file is left to the MPI library
  incoherent,   // several nodes may write the file, and their caches are not coherent
};

// Starts the agents that the company does not name yet, and tells all ranks their addresses. Then each rank
// knows its agent's part of the route. The answer is the same on all ranks. Collective. Call it only if the
// company has several nodes. The caller has to find out whether `meeting.reaches` is true on all ranks. If
// decision.storage_host is one of the nodes, its agent is the file server. If the agents that others call are
// then known, the meeting of a file that is only read (`may_be_late`) is late: no agent starts, and no rank
// tries to reach another node.
Apart plan_meeting(Team& team, Place& place, Company& company, const Decision& decision, bool may_be_late,
                   Meeting& meeting);
// Remembers whether the agents of this route reach each other, for the next file.
void remember_meeting(Place& place, const Meeting& meeting, bool all_reach);
// After a late meeting: whether this node's agent can reach its next agents. Remembers the answer.
bool try_meeting(Place& place, const Meeting& meeting);

// The reason for reports.
Reason why(Apart apart);
// Prints one line on stderr for each reason, about the first such file. Prints nothing if a setting is the
// reason.
void tell(Apart apart, const std::string& path, const FileSettings& settings);

}  // namespace millrace::client
