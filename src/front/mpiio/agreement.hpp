// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/open.hpp"

namespace millrace::front {

// True if `mine` is true on every rank of the file. Collective over the file. What decides between the
// pipeline and the MPI library's collective functions must be agreed: a rank that takes the pipeline never
// joins the others.
bool all_ranks(Open& open, bool mine);

// The ranks of a communicator from which files are opened, made once for all files of it: to make them takes
// several messages between all ranks. Collective. Where threads may call MPI at once, two files need two of
// them.
std::shared_ptr<const Ranks> ranks_of(MPI_Comm comm);
// Forgets those of MPI_COMM_WORLD, which nobody frees. Collective; before MPI_Finalize.
void end_agreements();

}  // namespace millrace::front
