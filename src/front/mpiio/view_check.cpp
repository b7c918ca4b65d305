// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/view_check.hpp"

namespace millrace::front {

bool library_agrees(MPI_File file, const client::FileView& view) noexcept {
  const client::TypeMap& map = view.filetype();
  if (map.runs.size() <= 1) return true;
  constexpr std::uint64_t samples = 64;
  const std::uint64_t etypes = 2 * map.size / view.etype_size();
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t etype = etypes < samples ? i % etypes : i * (etypes - 1) / (samples - 1);
    MPI_Offset offset = 0;
    if (PMPI_File_get_byte_offset(file, static_cast<MPI_Offset>(etype), &offset) != MPI_SUCCESS) return false;
    if (static_cast<std::uint64_t>(offset) != view.offset_of(etype * view.etype_size())) return false;
  }
  return true;
}

}  // namespace millrace::front
