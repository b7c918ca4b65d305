// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/target.hpp"

namespace millrace::front {
namespace {

constexpr std::uint64_t bytes_max = std::uint64_t{1} << 60;
constexpr MPI_Offset offset_max = MPI_Offset{1} << 60;

}  // namespace

bool measure(Open& open, const Row& row, const Arguments& a, Target& target) {
  target.memory = a.map;
  if (target.memory == nullptr || !target.memory->valid()) return false;
  const std::uint64_t size = target.memory->size;
  if (a.count < 0 || a.offset < 0 || !open.mapped) return false;
  const std::uint64_t count = static_cast<std::uint64_t>(a.count);
  if (size != 0 && count > bytes_max / size) return false;
  target.bytes = count * size;
  MPI_Offset offset = a.offset;
  if (row.position == Position::individual) {
    const std::lock_guard guard(open.pointer_lock);
    if (current_position(open, offset) != MPI_SUCCESS) return false;
  }
  const std::uint64_t etype = open.view.etype_size();
  if (offset > offset_max / static_cast<MPI_Offset>(etype) || (etype != 1 && target.bytes % etype != 0))
    return false;
  target.position = static_cast<std::uint64_t>(offset) * etype;
  return true;
}

void find_hull(const Open& open, Target& target) {
  if (open.view.filetype().contiguous) {
    const std::uint64_t begin = open.view.displacement() + target.position;
    target.hull = {begin, begin + target.bytes};
    target.one_piece = true;
  } else {
    target.hull = open.view.hull_of(target.position, target.bytes);
    target.one_piece = open.view.one_piece(target.bytes, target.hull);
  }
}

void reserve(Open& open, Target& target) {
  const std::uint64_t etype = open.view.etype_size();
  const std::lock_guard guard(open.pointer_lock);
  target.position = static_cast<std::uint64_t>(open.position) * etype;
  open.position += static_cast<MPI_Offset>(target.bytes / etype);
  open.holder = Open::Holder::ours;
}

}  // namespace millrace::front
