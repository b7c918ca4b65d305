// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/call.hpp"

#include <utility>

#include "front/mpiio/call/completion.hpp"

namespace millrace::front {
namespace {

constexpr std::uint64_t bytes_max = std::uint64_t{1} << 60;
constexpr MPI_Offset offset_max = MPI_Offset{1} << 60;

}  // namespace

bool Call::measure() {
  memory = a.map;
  if (memory == nullptr || !memory->valid()) return false;
  if (a.count < 0 || a.offset < 0 || !open.view.mapped) return false;
  const std::uint64_t count = static_cast<std::uint64_t>(a.count);
  if (memory->size != 0 && count > bytes_max / memory->size) return false;
  bytes = count * memory->size;
  MPI_Offset offset = a.offset;
  if (moves_pointer() && open.pointer.get(offset) != MPI_SUCCESS) return false;
  const std::uint64_t etype = open.view.map.etype_size();
  if (offset > offset_max / static_cast<MPI_Offset>(etype) || (etype != 1 && bytes % etype != 0))
    return false;
  position = static_cast<std::uint64_t>(offset) * etype;
  place();
  return measured = true;
}

// A null buffer is valid for types with absolute addresses (MPI_BOTTOM).
bool Call::sound() {
  constexpr std::int64_t first_page = 4096;
  return measure() && (a.memory != nullptr || memory->true_lower >= first_page) &&
         (!nonblocking() || a.request != nullptr);
}

Extent Call::touched() {
  const bool placed = !open.left_to_library() && row.position != Position::shared;
  return placed && (measured || measure()) ? hull : everything;
}

void Call::place() {
  if (bytes == 0) return;
  if (open.view.map.filetype().contiguous) {
    const std::uint64_t begin = open.view.map.displacement() + position;
    hull = {begin, begin + bytes};
    one_piece = true;
  } else {
    hull = open.view.map.hull_of(position, bytes);
    one_piece = open.view.map.one_piece(bytes, hull);
  }
}

Status Call::settle(Extent extent) {
  if (std::exchange(settled, true)) return {};
  return open.file->flush(writes() ? Before::write : Before::read, extent);
}

void Call::reserve() {
  if (!moves_pointer()) return;
  const std::uint64_t etype = open.view.map.etype_size();
  MPI_Offset now = 0;
  if (open.pointer.take(static_cast<MPI_Offset>(bytes / etype), now) != MPI_SUCCESS) return;
  if (static_cast<std::uint64_t>(now) * etype == position) return;
  position = static_cast<std::uint64_t>(now) * etype;
  place();
}

void Call::give_back(std::uint64_t moved) {
  if (moves_pointer())
    open.pointer.set(static_cast<MPI_Offset>((position + moved) / open.view.map.etype_size()));
}

client::PieceSource Call::pieces() const {
  return {open.view.map, position, *memory, a.memory, static_cast<std::uint64_t>(a.count)};
}

std::uint64_t Call::estimate_pieces() const {
  return memory->contiguous && one_piece
             ? 1
             : open.view.map.estimate_pieces(position, *memory, static_cast<std::uint64_t>(a.count));
}

int Call::complete(std::uint64_t moved) const {
  const MPI_Count count = static_cast<MPI_Count>(moved);
  switch (row.completion) {
    case Completion::blocking:
      set_status(a.status, count);
      return MPI_SUCCESS;
    case Completion::nonblocking:
      return completed_request(count, a.request);
    case Completion::split_begin:
      (void)open.begun.change({.ours = true, .bytes = count});
      return MPI_SUCCESS;
    case Completion::split_end:
      break;
  }
  return MPI_ERR_INTERN;
}

}  // namespace millrace::front
