// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/fd.hpp"
#include "base/settings.hpp"
#include "client/stage.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

struct StagePlan {
  std::string path;
  Settings settings;
  std::uint64_t group;        // of the open
  std::uint32_t least_share;  // every node must have read so much of the last file of the series; 0: of none
  std::uint32_t share;        // that this rank has read
};

struct StagedCopy {
  Fd fd;  // of this node's copy, which has no name any more
  client::FileStamp original;
};

// Brings a file to all nodes: rank 0 reads it and its node's agent passes it on, from one node to the next,
// each of which keeps a copy. Nothing, on all ranks alike, if that was not possible; rank 0 logs why.
// Collective. The file must be open on all ranks, and the same on all nodes.
std::optional<StagedCopy> stage_whole(MPI_Comm comm, const StagePlan& plan);

}  // namespace millrace::front
