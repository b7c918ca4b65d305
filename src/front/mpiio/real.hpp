// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/hook/attach.hpp"
#include "front/mpiio/mpi.hpp"
// Needs the declarations of mpi.h.
#include "front/mpiio/generated/functions.hpp"

namespace millrace::front {

// The table of real functions, from libmillrace.so. Set once, before any hook can run.
extern void* const* real_functions;

// Calls the real function of slot S. `entry` says whether the program called MPI_X or PMPI_X.
template <Slot S, class... Arguments>
inline int call(Entry entry, Arguments... arguments) {
  using Type = typename Function<S>::type;
  const auto function =
      reinterpret_cast<Type>(real_functions[2 * static_cast<unsigned>(S) + static_cast<unsigned>(entry)]);
  return function(arguments...);
}

}  // namespace millrace::front
