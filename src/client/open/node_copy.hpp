// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "client/open/company.hpp"
#include "client/open/place.hpp"
#include "client/open/stage.hpp"
#include "client/open/team.hpp"

namespace millrace::client {

struct StagePlan {
  std::string path;
  std::uint64_t group;     // of the open
  bool careful = false;    // the copy may take only a part of the free room
  bool first = false;      // only rank 0's node sees the file
  std::uint64_t size = 0;  // of the file, if `first` is set; 0 for a stand-in
};

struct StagedCopy {
  Fd fd;  // this node's copy, which has no name any more
  FileStamp original;
  // The source from which rank 0 read. It stays open until MPI_File_close, because closing it would drop the
  // process's fcntl locks on the file.
  std::unique_ptr<Source> source;
};

// Copies a file to all nodes. Rank 0 reads it, and the agents pass it on from one node to the next; each node
// keeps a copy. The company then has the addresses of all agents. If a copy is not possible, the result is
// empty on all ranks alike, and rank 0 logs the reason. Collective. The file must be open on all ranks, and
// the same on all nodes.
std::optional<StagedCopy> stage_whole(Team& team, Place& place, Company& company, const StagePlan& plan);

// Makes an empty file without a name on each node, which the MPI library opens there instead of a file that
// only rank 0's node sees. Not valid, as for stage_whole(): it is not possible. Collective.
Fd stand_in(Team& team, Place& place, Company& company, const StagePlan& plan);

}  // namespace millrace::client
