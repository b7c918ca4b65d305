// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/mpi.hpp"

// Who takes part in the exchanges of Millrace (ADR 30). A rank may run without Millrace: a program that
// cannot be preloaded, an environment without LD_PRELOAD, a node without the library. It never answers.
namespace millrace::front {

// How the ranks of a communicator come to a roll call.
enum class Coming {
  // All ranks have just returned from a call of the MPI library that needs all of them, such as MPI_Init. A
  // rank that does not answer within the bound has no Millrace, and the job ends with a line.
  together,
  // Ranks may come at any time. If the wait is long, a line says what it is for.
  apart
};

// True if every rank of the communicator runs this build of Millrace, and the ranks of each node use one
// agent. Otherwise a line says which ranks differ, no rank makes an exchange, and the MPI library has the
// file. The answer is the same on all ranks. The first call for a communicator costs one exchange; later ones
// cost none. Collective.
bool all_take_part(MPI_Comm comm, Coming coming);

}  // namespace millrace::front
