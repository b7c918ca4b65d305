// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "client/typemap.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// The map of a datatype, made when it is first asked for and kept as an attribute of the datatype: it lives
// as long as the datatype does. nullptr if there is no map (an unknown combiner, too deep a nest, a type on
// which MPI libraries disagree): the caller leaves the call to the MPI library. A repeated call takes a few
// nanoseconds; thread safe.
const client::TypeMap* find_map(MPI_Datatype type) noexcept;

// For an owner that keeps the map beyond the datatype's life: a file view. Also for types with doubtful
// placement: library_agrees() tells whether such a map may be used.
std::shared_ptr<const client::TypeMap> share_map(MPI_Datatype type) noexcept;

// Why this rank leaves a view of this type to the MPI library.
enum class Unmapped {
  other,      // not the type: displacement or etype are the reason
  too_large,  // its map would take more than most_map_bytes, or there is no memory
  unknown,    // an unknown constructor, or too deep a nest
  disputed,   // blocks without elements, for which some libraries write one
  unordered,  // the pieces overlap, or are not in ascending order
  misplaced,  // this MPI library puts bytes elsewhere than the standard says
};
Unmapped why_unmapped(MPI_Datatype type) noexcept;

}  // namespace millrace::front
