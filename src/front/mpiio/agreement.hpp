// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/open.hpp"

namespace millrace::front {

// True if `mine` is true on every rank of the file. Collective over the file. What decides between the
// pipeline and the MPI library's collective functions must be agreed: a rank that takes the pipeline never
// joins the others.
bool all_ranks(Open& open, bool mine);

// Frees what all_ranks() made. Collective over the file.
void end_agreements(Open& open);

}  // namespace millrace::front
