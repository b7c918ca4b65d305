// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/handles/open.hpp"

namespace millrace::front {

// True if `mine` is true on every rank of the file. Collective over the file. All ranks must make the same
// choice between the pipeline and the MPI library's collective functions. A rank in the pipeline never enters
// the collective function, so other ranks there would wait for ever.
bool all_ranks(Open& open, bool mine);

// The ranks of a communicator from which files are opened. All files of the communicator share one object,
// because making it takes several messages between all ranks. Collective. If threads may call MPI at the same
// time, each file gets its own object.
std::shared_ptr<const Ranks> ranks_of(MPI_Comm comm);
// False in a program with MPI sessions.
bool has_world();
// True if all ranks of the communicator are in MPI_COMM_WORLD.
bool within_world(MPI_Comm comm);
// True if threads may call MPI at the same time.
bool calls_may_overlap();
// Frees the ranks of MPI_COMM_WORLD, which MPI itself never frees. Collective; call it before MPI_Finalize.
void end_agreements();

}  // namespace millrace::front
