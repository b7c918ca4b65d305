// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "extent/extent.hpp"
#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// What a file view says, as far as this process can map it: contiguous views by arithmetic.
struct View {
  std::uint64_t displacement = 0;
  std::uint64_t etype_size = 1;
  bool contiguous = true;

  bool mappable() const { return contiguous; }
  // The bytes of the file that `bytes` bytes of data from `offset` etypes on occupy.
  Extent hull(MPI_Offset offset, std::uint64_t bytes) const {
    const std::uint64_t begin = displacement + static_cast<std::uint64_t>(offset) * etype_size;
    return {begin, begin + bytes};
  }
};

// A memory type; `known` is false where it cannot be mapped.
struct MemoryType {
  std::uint64_t size = 0;
  bool known = false;
};

// Cached per thread for predefined types, so that the usual call costs a comparison.
MemoryType memory_type(MPI_Datatype type);

View make_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype);

}  // namespace millrace::front
