// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/settings.hpp"
#include "client/route.hpp"
#include "client/stage.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

struct StagePlan {
  std::string path;
  Settings settings;
  std::uint64_t group;        // of the open
  std::uint32_t least_share;  // every node must have read so much of the last file of the series; 0: of none
  std::uint32_t share;        // that this rank has read
  bool first = false;         // rank 0's node alone sees the file
  std::uint64_t size = 0;     // then: of the file
};

struct StagedCopy {
  Fd fd;  // of this node's copy, which has no name any more
  client::FileStamp original;
  // What rank 0 read it from. It stays open until MPI_File_close: to close it takes the fcntl locks that the
  // process has on the file.
  std::unique_ptr<client::Source> source;
};

// Brings a file to all nodes: rank 0 reads it and its node's agent passes it on, from one node to the next,
// each of which keeps a copy. Nothing, on all ranks alike, if that was not possible; rank 0 logs why.
// Collective. The file must be open on all ranks, and the same on all nodes.
std::optional<StagedCopy> stage_whole(MPI_Comm comm, const StagePlan& plan);

// What stands for a file that only rank 0's node sees.
struct StandIn {
  Fd fd;                    // an empty file of this node without a name, for the MPI library to open
  bool here;                // this is rank 0's node: it has the file itself
  std::uint32_t members;    // ranks on this node
  client::Routing routing;  // to rank 0's node, as this node sees it
  FileSettings settings;    // of rank 0
};

// Nothing, on all ranks alike, if the nodes' agents cannot work together; rank 0 logs why. Collective.
std::optional<StandIn> stand_in(MPI_Comm comm, const StagePlan& plan);

}  // namespace millrace::front
