// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "client/typemap.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// The map of a datatype, made when it is first asked for and kept as an attribute of the datatype: it lives
// as long as the datatype does. nullptr where there is no map (a combiner that is not known here, a nest that
// is too deep, a type that MPI libraries disagree about): the caller leaves the call to the MPI library. A
// few nanoseconds when the type was looked up before; thread safe.
const client::TypeMap* find_map(MPI_Datatype type) noexcept;

// For who keeps it beyond the datatype's life: a file view. Also for types whose placement is
// doubtful: library_agrees() tells whether they may be used.
std::shared_ptr<const client::TypeMap> share_map(MPI_Datatype type) noexcept;

// Why this rank leaves a view of this type to the MPI library.
enum class Unmapped {
  other,      // not because of the type: its displacement or etype
  too_large,  // its map would take more than most_map_bytes, or there is no memory
  unknown,    // a constructor that is not known here, a nest that is too deep
  disputed,   // blocks without elements, of which some libraries make one
  unordered,  // the pieces overlap, or are not in ascending order
  misplaced,  // the MPI library at hand puts bytes elsewhere than the standard says
};
Unmapped why_unmapped(MPI_Datatype type) noexcept;

}  // namespace millrace::front
