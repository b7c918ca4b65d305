// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "client/view/typemap.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// The map of a datatype. The first call makes the map and keeps it as an attribute of the datatype, so the
// map lives as long as the datatype. nullptr if there is no map: an unknown combiner, too deep a nest, or a
// type on which MPI libraries disagree. Then the caller leaves the call to the MPI library. A repeated call
// takes a few nanoseconds. Thread safe.
const client::TypeMap* find_map(MPI_Datatype type) noexcept;

// The same for a file view, which keeps the map after the datatype is freed. Also returns maps of types whose
// placement is in doubt. Use such a map only if library_agrees() returns true.
std::shared_ptr<const client::TypeMap> share_map(MPI_Datatype type) noexcept;

// True if the map of this type would take more than most_map_bytes, or if there is no memory.
bool map_is_too_large(MPI_Datatype type) noexcept;

}  // namespace millrace::front
