// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/ranks/coherence.hpp"

#include "client/file/mounts.hpp"
#include "client/start/job.hpp"
#include "front/mpiio/ranks/communicator.hpp"

namespace millrace::front {
bool may_be_incoherent(const client::TargetFile& found) {
  const std::uint32_t ranks = ranks_of_world();
  return (ranks == 0 || client::may_span_nodes(static_cast<int>(ranks))) &&
         client::type_of(found).coherence == Coherence::none;
}

std::uint32_t ranks_of_world() {
  int size = 0;
  const bool known = has_world() && PMPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS;
  return known ? static_cast<std::uint32_t>(size) : 0;
}

}  // namespace millrace::front
