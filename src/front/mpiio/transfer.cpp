// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The one transfer behind all read and write functions.
//
// On a file that Millrace accelerates, a collective write never becomes the MPI library's collective write.
// The choice between pipeline and library depends on facts of this rank alone (sizes, errors), so the ranks
// could wait for each other. A write that does not take the pipeline uses the library's independent function,
// which needs no other rank. Only `collective_direct`, agreed by all ranks at open, and atomic mode, set by
// all ranks, leave collective writes to the library.
#include "front/mpiio/transfer.hpp"

#include <array>
#include <new>
#include <utility>

#include "front/mpiio/agreement.hpp"
#include "front/mpiio/completion.hpp"
#include "front/mpiio/datatype.hpp"
#include "front/mpiio/direct.hpp"
#include "front/mpiio/first_read.hpp"
#include "front/mpiio/library.hpp"
#include "front/mpiio/linear.hpp"
#include "front/mpiio/unmapped.hpp"

namespace millrace::front {
namespace {

constexpr std::uint64_t bytes_max = std::uint64_t{1} << 60;
constexpr MPI_Offset offset_max = MPI_Offset{1} << 60;

// Lets the library check a datatype (mainly whether it is committed) when this thread uses it for the first
// time. A write of 0 elements does that.
int examine(const Open& open, const Arguments& a, const client::TypeMap* map) {
  static thread_local constinit std::array<const client::TypeMap*, 16> examined{};
  const client::TypeMap*& place = examined[(reinterpret_cast<std::uintptr_t>(map) >> 6) % examined.size()];
  if (place == map) return MPI_SUCCESS;
  char nothing = 0;
  const int error =
      call<Slot::MPI_File_write_at>(Entry::pmpi, open.handle, MPI_Offset{0},
                                    static_cast<const void*>(&nothing), 0, a.type, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS) place = map;
  return error;
}

// A null buffer is valid for 0 bytes, and for types with absolute addresses (MPI_BOTTOM).
bool buffer_sound(const Arguments& a, const Target& target) {
  constexpr std::int64_t first_page = 4096;
  return a.memory != nullptr || target.bytes == 0 || target.memory->true_lower >= first_page;
}

}  // namespace

bool measure(Open& open, const Row& row, const Arguments& a, Target& target) {
  target.memory = find_map(a.type);
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

namespace {

// Takes `target.bytes` bytes at the individual pointer, which may have moved since it was measured.
void reserve(Open& open, Target& target) {
  const std::uint64_t etype = open.view.etype_size();
  const std::lock_guard guard(open.pointer_lock);
  target.position = static_cast<std::uint64_t>(open.position) * etype;
  open.position += static_cast<MPI_Offset>(target.bytes / etype);
  open.holder = Open::Holder::ours;
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

int write(Open& open, const Row& row, const Arguments& a);

// For a datatype without a map and a view with holes: writes the bytes, in order. False: nothing was written,
// and the call is the library's.
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
  bytes.status = MPI_STATUS_IGNORE;
  bool begun = false;
  while (linear.next()) {
    bytes.goes_on = std::exchange(begun, true);
    bytes.memory = const_cast<std::byte*>(linear.bytes().data());
    bytes.count = static_cast<MPI_Count>(linear.bytes().size());
    result = write(open, now, bytes);
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

int write(Open& open, const Row& row, const Arguments& a) {
  if (!open.mapped && open.location != Open::Location::elsewhere)
    return open.sweep.window != 0 ? write_direct(open, row, a, nullptr) : write_unmapped(open, row, a);
  Target target{};
  const bool sound = measure(open, row, a, target) && buffer_sound(a, target) &&
                     (row.completion != Completion::nonblocking || a.request != nullptr);
  if (!sound) {
    int result = MPI_SUCCESS;
    const bool done = target.memory == nullptr && write_linear(open, row, a, result);
    if (done) return result;
    if (open.location == Open::Location::elsewhere)
      return not_on_first(open, "writing with these arguments or this view");
    return write_direct(open, row, a, nullptr);
  }
  if (target.bytes >= device::worth_looking_bytes && !device::driver_seen.load(std::memory_order_relaxed)) {
    device::look();
    int result = MPI_SUCCESS;
    if (device::driver_seen.load(std::memory_order_relaxed) && staged(&open, row, a, result)) return result;
  }
  if (target.bytes == 0) {
    const int error = examine(open, a, target.memory);
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
       .collective = row.coordination == Coordination::collective,
       .nonblocking = row.completion == Completion::nonblocking,
       .goes_on = a.goes_on,
       .met = open.takes_meeting() && row.coordination == Coordination::independent});
  if (!pipeline) {
    const Timed timed(*open.file);
    const bool library = target.one_piece && !writes_under_lock(open, target);  // which examines by itself
    const int error = library ? MPI_SUCCESS : examine(open, a, target.memory);
    return error != MPI_SUCCESS ? error : write_direct(open, row, a, &target);
  }
  if (const int error = examine(open, a, target.memory); error != MPI_SUCCESS) return error;
  if (row.position == Position::individual) {
    reserve(open, target);
    find_hull(open, target);
  }
  const Status status = append(open, a, target);
  return status.ok() ? complete(open, row, a, target.bytes) : raise(open, status);
}

// The end of a split collective that began in the pipeline. False: the call is the library's.
bool end_split(Open& open, const Row& row, const Arguments& a, int& result) {
  const std::lock_guard guard(open.split_lock);
  const Split split = open.split;
  open.split = {};
  if (split.staged) {
    Arguments end = a;
    end.status = MPI_STATUS_IGNORE;
    result = end_library(row, end, a.file);
  } else if (split.state != Split::State::ours) {
    return false;
  }
  set_status(a.status, split.bytes);
  return true;
}

bool split_active(Open& open) {
  const std::lock_guard guard(open.split_lock);
  return open.split.state == Split::State::ours;
}

// The bytes that a call of the library may touch; everything if that is unknown.
Extent touched(Open& open, const Row& row, const Arguments& a) {
  Target target{};
  if (row.position == Position::shared || !measure(open, row, a, target)) return everything;
  if (target.bytes == 0) return {};
  find_hull(open, target);
  return target.hull;
}

// A collective read of a file that several nodes have open finds earlier writes of all ranks. MPI requires
// syncs in between, but I/O libraries that need none on one node have none. A call that must not wait for
// other ranks does without this.
bool shared_by_nodes(const Open& open, const Row& row) {
  return open.routed && row.direction == Direction::read && row.coordination == Coordination::collective &&
         row.completion != Completion::nonblocking;
}

Status meet_for_reading(Open& open) {
  const Status status = open.file->publish();
  (void)all_ranks(open, true);
  client::refresh(open.path);
  return status;
}

bool prepare(Open& open, const Row& row, const Arguments& a, int& result, Status& flushed) {
  if (row.completion == Completion::split_end) return end_split(open, row, a, result);
  if (row.completion == Completion::split_begin && split_active(open)) {
    result = raise_class(open, MPI_ERR_IO);  // one split collective at a time; ROMIO returns the same error
    return true;
  }
  if (row.direction == Direction::read && open.location != Open::Location::everywhere) {
    result = read_on_first(open, row, a);
    return true;
  }
  if (writes_alone(open, row)) {
    result = write(open, row, a);
    return true;
  }
  const bool all = row.direction == Direction::write && row.coordination == Coordination::collective;
  const Extent extent = all ? everything : touched(open, row, a);
  if (shared_by_nodes(open, row)) {
    flushed = meet_for_reading(open);
  } else {
    flushed = row.direction == Direction::write ? open.file->prepare_direct_write(extent)
                                                : open.file->flush(extent);
  }
  if (row.position == Position::individual) hand_over(open);
  return false;
}

}  // namespace

bool writes_alone(const Open& open, const Row& row) {
  return row.direction == Direction::write && open.writable && row.position != Position::shared &&
         (open.writes_alone() || open.location == Open::Location::elsewhere) &&
         !(row.coordination == Coordination::collective && open.collective_direct);
}

Status ask_as_visitor(const Open& open, const Row& row) noexcept {
  if (row.completion == Completion::split_end) return {};
  return row.direction == Direction::read ? open.file->flush(everything)
                                          : open.file->prepare_direct_write(everything);
}

int was_read(Open& open, const Row& row, const Arguments& a, int result) noexcept {
  if (row.direction == Direction::read && row.completion != Completion::split_end && a.count > 0) {
    const client::TypeMap* type = find_map(a.type);
    const std::uint64_t bytes = type != nullptr ? type->size * static_cast<std::uint64_t>(a.count) : 0;
    open.reader->bytes.fetch_add(bytes, std::memory_order_relaxed);
    open.file->note_direct_call(bytes);
  }
  // The program's error handler belongs to the handle that the program has.
  if (result != MPI_SUCCESS && source_of(open, row) != open.handle)
    PMPI_File_call_errhandler(open.handle, result);
  return result;
}

bool before(Open& open, const Row& row, const Arguments& a, int& result, Status& flushed) noexcept {
  try {
    return prepare(open, row, a, result, flushed);
  } catch (const std::bad_alloc&) {
    result = raise(open, Code::no_memory);
  } catch (...) {
    result = raise(open, Code::io);
  }
  return true;
}

int after(Open& open, const Row& row, const Arguments& a, int result, Status flushed) noexcept {
  if (row.completion == Completion::split_begin && result == MPI_SUCCESS) {
    const std::lock_guard guard(open.split_lock);
    open.split.state = Split::State::real;
  }
  if (result == MPI_SUCCESS && row.completion != Completion::split_end) {
    const client::TypeMap* type = find_map(a.type);
    open.file->note_direct_call(type != nullptr ? type->size * static_cast<std::uint64_t>(a.count) : 0);
  }
  return flushed.ok() ? result : raise(open, flushed);
}

}  // namespace millrace::front
