// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "front/mpiio/nodes.hpp"
#include "front/mpiio/open.hpp"

namespace millrace::front {

// A file that ranks of several nodes have open for reading: its file servers read it once, and send to each
// node the bytes that the node's ranks want (ADR 24). A rank whose agent fails reads the file itself, with
// the library's independent functions.

// Rank 0 calls this, for decide().
std::uint64_t storage_of(const std::string& path);

// Lets the nodes' agents work together on such a file, and completes `open`; `peers` and `decision` are what
// all ranks have told each other. False, on all ranks alike: they cannot, and `open` is as before.
// Collective. `large`: the agents carry large reads too, wherever the file lies.
struct ThroughPlan {
  std::string path;
  std::uint64_t group;
  bool large;
};
bool open_through(MPI_Comm comm, const ThroughPlan& plan, std::vector<Peer>& peers, const Decision& decision,
                  Open& open);

}  // namespace millrace::front
