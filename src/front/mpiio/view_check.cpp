// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/view_check.hpp"

#include <algorithm>

namespace millrace::front {
namespace {

bool same_place(MPI_File file, const client::FileView& view, std::uint64_t position) {
  const std::uint64_t etype = position / view.etype_size();
  MPI_Offset offset = 0;
  if (PMPI_File_get_byte_offset(file, static_cast<MPI_Offset>(etype), &offset) != MPI_SUCCESS) return false;
  return static_cast<std::uint64_t>(offset) == view.offset_of(etype * view.etype_size());
}

// The first byte and the last etype of what is left of the piece at `position`. Goes to the next one.
bool same_piece(MPI_File file, const client::FileView& view, std::uint64_t& position) {
  const client::TypeMap& map = view.filetype();
  const std::uint64_t within = position % map.size;
  const std::uint64_t rest = std::min(client::Cursor(map, 0, within).rest(), map.size - within);
  const bool same = same_place(file, view, position) && same_place(file, view, position + rest - 1);
  position += rest;
  return same;
}

}  // namespace

bool library_agrees(MPI_File file, const client::FileView& view, std::uint64_t steps) noexcept {
  const client::TypeMap& map = view.filetype();
  if (map.placement == client::Placement::agreed) return true;
  // Elements of a view repeat: what goes wrong does so in the first two.
  const std::uint64_t end = 2 * map.size;
  const std::uint64_t pieces = 2 * map.pieces;
  const std::uint64_t affordable = steps / std::max<std::uint64_t>(map.pieces, 1);
  std::uint64_t position = 0;
  if (pieces <= affordable) {
    while (position < end)
      if (!same_piece(file, view, position)) return false;
    return true;
  }
  if (affordable < fewest_samples) return false;
  for (std::uint64_t i = 0; i < affordable; ++i) {
    // Evenly, but never in step with the type's own loops: the fraction is that of the golden ratio.
    position = static_cast<std::uint64_t>(static_cast<__uint128_t>(i * 0x9e3779b97f4a7c15u) * end >> 64);
    if (i == 0) position = end - 1;
    if (!same_piece(file, view, position)) return false;
  }
  return true;
}

}  // namespace millrace::front
