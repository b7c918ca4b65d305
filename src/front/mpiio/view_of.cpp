// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/view_of.hpp"

#include <array>

namespace millrace::front {
namespace {

struct Remembered {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MemoryType value;
};
thread_local std::array<Remembered, 8> remembered;

std::size_t place(MPI_Datatype type) {
  std::uintptr_t bits = 0;
  static_assert(sizeof type <= sizeof bits);
  __builtin_memcpy(&bits, &type, sizeof type);
  return (bits ^ (bits >> 5)) % 8;
}

}  // namespace

MemoryType memory_type(MPI_Datatype type) {
  Remembered& last = remembered[place(type)];
  if (last.type == type && last.value.known) return last.value;
  if (type == MPI_DATATYPE_NULL) return {};
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return {};
  MPI_Count size = 0, lower = 0, extent = 0;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent_x(type, &lower, &extent);
  if (combiner != MPI_COMBINER_NAMED || size != extent || lower != 0) return {};
  last = {type, {static_cast<std::uint64_t>(size), true}};  // predefined types are never freed
  return last.value;
}

View make_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype) {
  const MemoryType unit = memory_type(etype);
  const MemoryType tile = memory_type(filetype);
  View view{static_cast<std::uint64_t>(displacement), unit.size, unit.known && tile.known};
  if (!unit.known) {
    MPI_Count size = 1;
    PMPI_Type_size_x(etype, &size);
    view.etype_size = static_cast<std::uint64_t>(size);
  }
  return view;
}

}  // namespace millrace::front
