// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "client/view/typemap.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// The most memory that the maps of a datatype and its parts may take while they are made. A block of an
// indexed type takes 32 bytes, or 112 if its elements have holes. Nested types take the memory of their maps.
inline constexpr std::uint64_t most_map_bytes = std::uint64_t{1} << 30;

struct Flat {
  std::shared_ptr<const client::TypeMap> map;  // nullptr if there is none
  bool predefined = false;                     // the type can never be freed
  bool too_large = false;                      // there is no map, because it needs too much memory
};

// Makes the map of a datatype from its envelope and contents, recursively. Size, bounds and true bounds agree
// with those of the MPI library. Nothing is cached.
Flat flatten(MPI_Datatype type, std::uint64_t most_bytes = most_map_bytes);

}  // namespace millrace::front
