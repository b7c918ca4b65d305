// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/ranks/coherence.hpp"

#include "client/file/mounts.hpp"
#include "client/start/job.hpp"
#include "front/mpiio/ranks/communicator.hpp"

namespace millrace::front {
namespace {

// The number of the program's ranks. 0: a program with MPI sessions has no world.
int ranks_of_world() {
  int size = 0;
  return has_world() && PMPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS ? size : 0;
}

}  // namespace

bool may_be_incoherent(const client::TargetFile& found) {
  const int ranks = ranks_of_world();
  return (ranks == 0 || client::may_span_nodes(ranks)) && client::type_of(found).coherence == Coherence::none;
}

bool others_may_write(std::uint32_t members) {
  return members == 0 || static_cast<int>(members) != ranks_of_world();
}

}  // namespace millrace::front
