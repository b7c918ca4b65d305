// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// A long wait calls this function once, after this time in which the process ran.
struct Late {
  std::uint64_t after_ms = UINT64_MAX;
  std::function<void()> act;
};

// A communicator of Millrace's own with the ranks of a file. Destroying the last pointer to it is collective.
struct Ranks {
  MPI_Comm comm = MPI_COMM_NULL;  // null: this rank is alone, or no communicator can be made
  int size = 1;
  ~Ranks();
};

// The ranks of a communicator from which files are opened. All files of the communicator share one object,
// because making it takes several messages between all ranks. Collective. If threads may call MPI at the same
// time, each call makes its own object. `late`: of a long wait for other ranks.
std::shared_ptr<const Ranks> ranks_of(MPI_Comm comm, const Late& late);
// The object that an earlier call has made; null: there is none. The same on all ranks.
std::shared_ptr<const Ranks> known_ranks(MPI_Comm comm);
// The ranks of an open file, if its communicator is not available any more. Collective. `group` is the same
// number on all ranks.
std::shared_ptr<const Ranks> ranks_of_file(MPI_File file, std::uint64_t group);
// False in a program with MPI sessions.
bool has_world();
// The ranks in MPI_COMM_WORLD of the communicator's ranks; empty if some are not there.
std::vector<int> world_ranks(MPI_Comm comm);
// True if all of the communicator's ranks are there. Needs no list of them.
bool in_world(MPI_Comm comm);
// True if threads may call MPI at the same time.
bool calls_may_overlap();
// Frees the ranks of MPI_COMM_WORLD, which MPI itself never frees. Collective; call it before MPI_Finalize.
void end_agreements();

}  // namespace millrace::front
