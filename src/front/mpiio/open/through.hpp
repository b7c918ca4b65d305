// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "front/mpiio/handles/open.hpp"

namespace millrace::front {

// A file that ranks of several nodes have open for reading: its file servers read it once, and send to each
// node the bytes that the node's ranks want (ADR 24). A rank whose agent fails reads the file itself, with
// the library's independent functions.

// Reading a smaller file takes no longer than the agreement of the nodes.
constexpr std::uint64_t worth_carrying_bytes = 4 * MiB;

// Lets the nodes' agents work together on such a file, and completes `open`; `company` and `decision` are
// what all ranks have told each other. Apart::no: they do. Otherwise `open` is as before. The answer is the
// same on all ranks. Collective. `large`: the agents carry large reads too. `found` is the file of `path`.
struct ThroughPlan {
  MPI_Comm comm;
  std::string path;
  std::uint64_t group;
  bool large;
  client::TargetFile found;
};
client::Apart open_through(client::Team& team, ThroughPlan plan, client::Company& company,
                           const client::Decision& decision, Open& open);

// True if the agents carry reads of this file. After a late meeting, the first call tries whether this node's
// agent can reach the file servers, which takes a bounded time.
bool agents_carry(Open& open);

// Which reads of a file that may be written the agents carry, until it is written. Rank 0 calls this.
client::Through through_until_written(const client::TargetFile& target, const Settings& settings);

}  // namespace millrace::front
