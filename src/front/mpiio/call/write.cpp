// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/write.hpp"

#include <utility>

#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/direct.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/call/unmapped.hpp"
#include "front/mpiio/open/first.hpp"
#include "front/mpiio/types/datatype.hpp"
#include "front/mpiio/types/linear.hpp"

namespace millrace::front {
namespace {

// A null buffer is valid for 0 bytes, and for types with absolute addresses (MPI_BOTTOM).
bool buffer_sound(const Arguments& a, const Target& target) {
  constexpr std::int64_t first_page = 4096;
  return a.memory != nullptr || target.bytes == 0 || target.memory->true_lower >= first_page;
}

Status append(Open& open, const Arguments& a, const Target& target) {
  const bool one = target.memory->contiguous && target.one_piece;
  if (one) {
    const client::Piece piece{target.hull.begin, a.memory, target.bytes};
    return open.file->write({&piece, 1});
  }
  client::PieceSource source(open.view, target.position, *target.memory, a.memory,
                             static_cast<std::uint64_t>(a.count));
  return client::for_each_batch(
      source, [&](std::span<const client::Piece> pieces) { return open.file->write(pieces); });
}

bool sound(Open& open, const Row& row, const Arguments& a, Target& target) {
  return measure(open, row, a, target) && buffer_sound(a, target) &&
         (row.completion != Completion::nonblocking || a.request != nullptr);
}

// Carries out a write that measure() has accepted.
int write_measured(Open& open, const Row& row, const Arguments& a, Target& target) {
  if (target.bytes == 0) {
    const int error = examine(open, Direction::write, a);
    return error != MPI_SUCCESS ? error : complete(open, row, a, 0);
  }
  find_hull(open, target);
  const bool one = target.memory->contiguous && target.one_piece;
  const std::uint64_t pieces =
      one ? 1
          : open.view.estimate_pieces(target.position, *target.memory, static_cast<std::uint64_t>(a.count));
  const bool sieved = open.sweep.window != 0 && !target.one_piece;
  const bool pipeline = open.file->enter_pipeline(
      {.bytes = target.bytes,
       .pieces = pieces,
       .calls = target.one_piece ? 1 : pieces,
       .swept = sieved ? open.view.estimate_swept(target.position, target.bytes, open.sweep) : 0,
       .nonblocking = row.completion == Completion::nonblocking,
       .goes_on = a.goes_on,
       .met = open.takes_meeting() && row.coordination == Coordination::independent});
  if (!pipeline) {
    const Timed timed(*open.file);
    const bool library =
        target.one_piece && !writes_under_lock(open, target);  // which checks the datatype itself
    const int error = library ? MPI_SUCCESS : examine(open, Direction::write, a);
    return error != MPI_SUCCESS ? error : write_direct(open, row, a, &target);
  }
  if (const int error = examine(open, Direction::write, a); error != MPI_SUCCESS) return error;
  if (row.position == Position::individual) {
    reserve(open, target);
    find_hull(open, target);
  }
  const Status status = append(open, a, target);
  return status.ok() ? complete(open, row, a, target.bytes) : raise(open, status);
}

// Carries out a write with wrong arguments, or with a datatype without a map.
int write_unmeasured(Open& open, const Row& row, const Arguments& a) {
  if (open.location == Open::Location::elsewhere)
    return not_on_first(open, "writing with these arguments or this view");
  return write_direct(open, row, a, nullptr);
}

// For a datatype without a map and a view with holes: lets Linear put the bytes in order, and writes them.
// False: nothing was written, and the library has to write.
bool write_linear(Open& open, const Row& row, const Arguments& a, int& result) {
  const bool elsewhere = open.location == Open::Location::elsewhere;
  if ((open.view.filetype().contiguous && !elsewhere) || a.count <= 0 || a.offset < 0 ||
      a.type == MPI_DATATYPE_NULL || (row.completion == Completion::nonblocking && a.request == nullptr))
    return false;
  MPI_Count data = 0;
  if (PMPI_Type_size_x(a.type, &data) != MPI_SUCCESS || data <= 0) return false;
  const auto size = static_cast<std::uint64_t>(data);
  if (size % open.view.etype_size() != 0) return false;
  Linear linear(a.memory, a.type, a.count, size);
  Row now = row;
  now.completion = Completion::blocking;
  Arguments bytes = a;
  bytes.type = MPI_BYTE;
  bytes.map = find_map(MPI_BYTE);
  bytes.status = MPI_STATUS_IGNORE;
  bool begun = false;
  while (linear.next()) {
    bytes.goes_on = std::exchange(begun, true);
    bytes.memory = const_cast<std::byte*>(linear.bytes().data());
    bytes.count = static_cast<MPI_Count>(linear.bytes().size());
    Target target{};
    result = sound(open, now, bytes, target) ? write_measured(open, now, bytes, target)
                                             : write_unmeasured(open, now, bytes);
    if (result != MPI_SUCCESS) return true;
    bytes.offset += bytes.count / static_cast<MPI_Offset>(open.view.etype_size());
  }
  if (linear.failed()) {
    if (begun) result = raise(open, Code::io);
    return begun;
  }
  result = complete(open, row, a, static_cast<std::uint64_t>(a.count) * size);
  return true;
}

}  // namespace

int write(Open& open, const Row& row, const Arguments& a) {
  if (!open.mapped && open.location != Open::Location::elsewhere) return write_unmapped(open, row, a);
  Target target{};
  if (sound(open, row, a, target)) return write_measured(open, row, a, target);
  int result = MPI_SUCCESS;
  const bool done = target.memory == nullptr && write_linear(open, row, a, result);
  return done ? result : write_unmeasured(open, row, a);
}

}  // namespace millrace::front
