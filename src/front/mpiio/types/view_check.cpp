// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/types/view_check.hpp"

#include <algorithm>

namespace millrace::front {
namespace {

constexpr std::uint64_t first_pieces = 256;

// Asks the library for places in the file, up to a number of steps.
class Inquiry {
 public:
  Inquiry(MPI_File file, const client::FileView& view)
      : file_(file), view_(view), left_(view.filetype().pieces * steps_per_piece + steps_at_least) {}

  bool same_place(std::uint64_t position) {
    const client::TypeMap& map = view_.filetype();
    const std::uint64_t within = position % map.size;
    const auto steps =
        static_cast<std::uint64_t>(static_cast<__uint128_t>(within) * map.pieces / map.size) + 1;
    if (steps > left_) return false;
    left_ -= steps;
    const std::uint64_t etype = position / view_.etype_size();
    MPI_Offset offset = 0;
    if (PMPI_File_get_byte_offset(file_, static_cast<MPI_Offset>(etype), &offset) != MPI_SUCCESS)
      return false;
    return static_cast<std::uint64_t>(offset) == view_.offset_of(etype * view_.etype_size());
  }

  // Checks the first byte and the last etype of the piece at `position`. Moves `position` to the next piece.
  bool same_piece(std::uint64_t& position) {
    const client::TypeMap& map = view_.filetype();
    const std::uint64_t within = position % map.size;
    const std::uint64_t rest = std::min(client::Cursor(map, 0, within).rest(), map.size - within);
    const bool same = same_place(position) && same_place(position + rest - 1);
    position += rest;
    return same;
  }

 private:
  MPI_File file_;
  const client::FileView& view_;
  std::uint64_t left_;
};

}  // namespace

bool library_agrees(MPI_File file, const client::FileView& view) noexcept {
  const client::TypeMap& map = view.filetype();
  if (map.agreed()) return true;
  if (map.doubts.size() > client::TypeMap::most_doubts) return false;
  Inquiry ask(file, view);
  std::uint64_t position = 0;
  for (std::uint64_t i = 0; i < first_pieces && position < 2 * map.size; ++i)
    if (!ask.same_piece(position)) return false;
  // A lost or extra byte moves all bytes after it, so places far apart are enough.
  for (; position < map.size; position *= 2)
    if (!ask.same_place(position)) return false;
  if (!ask.same_place(map.size - 1) || !ask.same_place(map.size) || !ask.same_place(2 * map.size - 1))
    return false;
  return std::ranges::all_of(map.doubts, [&](std::uint64_t doubt) { return ask.same_place(doubt); });
}

}  // namespace millrace::front
