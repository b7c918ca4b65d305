// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/open.hpp"

namespace millrace::front {

// True if `mine` is true on every rank of the file. Collective over the file. Ranks must agree on the choice
// between the pipeline and the MPI library's collective functions: a rank that takes the pipeline never joins
// the others.
bool all_ranks(Open& open, bool mine);

// The ranks of a communicator from which files are opened, made once for all its files, because that takes
// several messages between all ranks. Collective. If threads may call MPI at the same time, each file needs
// its own.
std::shared_ptr<const Ranks> ranks_of(MPI_Comm comm);
// Frees the ranks of MPI_COMM_WORLD, which MPI itself never frees. Collective; call it before MPI_Finalize.
void end_agreements();

}  // namespace millrace::front
