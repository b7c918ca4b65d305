// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/settings.hpp"
#include "client/open/place.hpp"
#include "client/open/stage.hpp"
#include "client/open/team.hpp"

namespace millrace::client {

struct StagePlan {
  std::string path;
  Settings settings;
  std::uint64_t group;  // of the open
  // Every node must have read this share of the series' last file; 0: no condition.
  std::uint32_t least_share;
  std::uint32_t share;     // the share that this rank has read
  bool first = false;      // only rank 0's node sees the file
  std::uint64_t size = 0;  // of the file, if `first` is set
};

struct StagedCopy {
  Fd fd;  // this node's copy, which has no name any more
  FileStamp original;
  // The source from which rank 0 read. It stays open until MPI_File_close, because closing it would drop the
  // process's fcntl locks on the file.
  std::unique_ptr<Source> source;
};

// Copies a file to all nodes. Rank 0 reads it, and the agents pass it on from one node to the next; each node
// keeps a copy. If that is not possible, the result is empty on all ranks alike, and rank 0 logs the reason.
// Collective. The file must be open on all ranks, and the same on all nodes.
std::optional<StagedCopy> stage_whole(Team& team, Place& place, const StagePlan& plan);

// The stand-in for a file that only rank 0's node sees.
struct StandIn {
  Fd fd;                       // an empty file without a name on this node; the MPI library opens it
  bool here;                   // true on rank 0's node, which has the file itself
  std::uint32_t members;       // ranks on this node
  transport::Routing routing;  // from this node to rank 0's node
  FileSettings settings;       // of rank 0
};

// Makes the stand-in of this rank's node. If the nodes' agents cannot work together, the result is empty on
// all ranks, and rank 0 logs the reason. Collective.
std::optional<StandIn> stand_in(Team& team, Place& place, const StagePlan& plan);

}  // namespace millrace::client
