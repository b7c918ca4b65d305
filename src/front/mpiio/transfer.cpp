// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The one transfer behind all read and write functions.
//
// On a file that Millrace accelerates, a collective write never becomes the MPI library's collective write:
// the choice between pipeline and library depends on what this rank alone knows (sizes, errors), and the
// ranks would wait for each other. What this rank does not hand to the pipeline it writes by the library's
// independent function, which needs nobody. Only `collective_direct`, agreed by all ranks at open, and
// atomic mode, set by all ranks, leave collective writes to the library.
#include "front/mpiio/transfer.hpp"

#include <limits>
#include <new>

#include "front/mpiio/completion.hpp"

namespace millrace::front {
namespace {

constexpr std::uint64_t bytes_max = std::uint64_t{1} << 62;

// The library's independent function for the same bytes; blocking unless the row is nonblocking.
int write_independent(Open& open, const Row& row, const Arguments& a, MPI_Status* status) {
  const bool at = row.position == Position::at;
  const bool request = row.completion == Completion::nonblocking;
#if MILLRACE_LARGE_COUNT
  if (a.count > std::numeric_limits<int>::max()) {
    if (at && request)
      return call<Slot::MPI_File_iwrite_at_c>(a.entry, a.file, a.offset, a.memory, a.count, a.type, a.request);
    if (at) return call<Slot::MPI_File_write_at_c>(a.entry, a.file, a.offset, a.memory, a.count, a.type, status);
    hand_over(open, a.entry);
    if (request) return call<Slot::MPI_File_iwrite_c>(a.entry, a.file, a.memory, a.count, a.type, a.request);
    return call<Slot::MPI_File_write_c>(a.entry, a.file, a.memory, a.count, a.type, status);
  }
#endif
  const int count = static_cast<int>(a.count);
  if (at && request)
    return call<Slot::MPI_File_iwrite_at>(a.entry, a.file, a.offset, a.memory, count, a.type, a.request);
  if (at) return call<Slot::MPI_File_write_at>(a.entry, a.file, a.offset, a.memory, count, a.type, status);
  hand_over(open, a.entry);
  if (request) return call<Slot::MPI_File_iwrite>(a.entry, a.file, a.memory, count, a.type, a.request);
  return call<Slot::MPI_File_write>(a.entry, a.file, a.memory, count, a.type, status);
}

// Takes up a split collective, which the library knows nothing of, with this outcome.
int begin_split(Open& open, MPI_Count bytes) {
  const std::lock_guard guard(open.split_lock);
  open.split = {Split::State::ours, bytes};
  return MPI_SUCCESS;
}

// Past the pipeline, but without the other ranks.
int write_direct(Open& open, const Row& row, const Arguments& a, const Extent* hull) {
  const Status flushed = open.file->flush(hull != nullptr ? *hull : everything);
  if (!flushed.ok()) return raise(open, flushed);
  if (row.completion != Completion::split_begin) {
    const int error = write_independent(open, row, a, a.status);
    if (error == MPI_SUCCESS && hull != nullptr) open.file->note_direct_write(*hull);
    return error;
  }
  MPI_Status status;
  const int error = write_independent(open, row, a, &status);
  if (error != MPI_SUCCESS) return error;
  if (hull != nullptr) open.file->note_direct_write(*hull);
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  return begin_split(open, bytes);
}

// Reserves `bytes` bytes at the individual pointer. False: the library has to say what is wrong.
bool reserve(Open& open, const Arguments& a, std::uint64_t bytes, MPI_Offset& offset) {
  const std::lock_guard guard(open.pointer_lock);
  if (current_position(open, a.entry, offset) != MPI_SUCCESS) return false;
  open.position = offset + static_cast<MPI_Offset>(bytes / open.view.etype_size);
  open.holder = Open::Holder::ours;
  return true;
}

int complete(Open& open, const Row& row, const Arguments& a, std::uint64_t size) {
  const MPI_Count bytes = static_cast<MPI_Count>(size);
  switch (row.completion) {
    case Completion::blocking:
      set_status(a.status, bytes);
      return MPI_SUCCESS;
    case Completion::nonblocking:
      return completed_request(bytes, a.request);
    case Completion::split_begin:
      return begin_split(open, bytes);
    case Completion::split_end:
      break;
  }
  return MPI_ERR_INTERN;
}

int write(Open& open, const Row& row, const Arguments& a) {
  const MemoryType type = memory_type(a.type);
  const bool sound = a.count >= 0 && a.offset >= 0 && type.known && type.size > 0 && open.view.etype_size > 0 &&
                     static_cast<std::uint64_t>(a.count) <= bytes_max / type.size &&
                     (a.memory != nullptr || a.count == 0) &&
                     (row.completion != Completion::nonblocking || a.request != nullptr);
  if (!sound) return write_direct(open, row, a, nullptr);
  const std::uint64_t bytes = static_cast<std::uint64_t>(a.count) * type.size;
  if (bytes % open.view.etype_size != 0) return write_direct(open, row, a, nullptr);
  if (bytes == 0) return complete(open, row, a, 0);
  const bool collective = row.coordination == Coordination::collective;
  const bool pipeline =
      open.file->takes_pipeline(bytes, 1, collective, row.completion == Completion::nonblocking);
  MPI_Offset offset = a.offset;
  if (row.position == Position::individual) {
    if (!pipeline) {
      const std::lock_guard guard(open.pointer_lock);
      if (current_position(open, a.entry, offset) != MPI_SUCCESS) return write_direct(open, row, a, nullptr);
    } else if (!reserve(open, a, bytes, offset)) {
      return write_direct(open, row, a, nullptr);
    }
  }
  const Extent hull = open.view.hull(offset, bytes);
  if (!pipeline) return write_direct(open, row, a, &hull);
  const client::Piece piece{hull.begin, a.memory, bytes};
  const Status status = open.file->write({&piece, 1});
  if (!status.ok()) return raise(open, status);
  return complete(open, row, a, bytes);
}

// The end of a split collective that began in the pipeline. False: the library's business.
bool end_split(Open& open, const Arguments& a) {
  const std::lock_guard guard(open.split_lock);
  const Split split = open.split;
  open.split = {};
  if (split.state != Split::State::ours) return false;
  set_status(a.status, split.bytes);
  return true;
}

bool split_active(Open& open) {
  const std::lock_guard guard(open.split_lock);
  return open.split.state == Split::State::ours;
}

// The bytes that a call passed through may touch; everything where that is not known.
Extent touched(Open& open, const Row& row, const Arguments& a) {
  const MemoryType type = memory_type(a.type);
  const bool sound = row.position != Position::shared && a.count >= 0 && a.offset >= 0 && type.known &&
                     open.view.mappable() && type.size > 0 &&
                     static_cast<std::uint64_t>(a.count) <= bytes_max / type.size;
  if (!sound) return everything;
  MPI_Offset offset = a.offset;
  if (row.position == Position::individual) {
    const std::lock_guard guard(open.pointer_lock);
    if (current_position(open, a.entry, offset) != MPI_SUCCESS) return everything;
  }
  return open.view.hull(offset, static_cast<std::uint64_t>(a.count) * type.size);
}

bool prepare(Open& open, const Row& row, const Arguments& a, int& result, Status& flushed) {
  if (row.completion == Completion::split_end) return end_split(open, a);
  if (row.completion == Completion::split_begin && split_active(open)) {
    result = raise_class(open, MPI_ERR_IO);  // one split collective at a time, as ROMIO says it
    return true;
  }
  const bool ours = row.direction == Direction::write && row.position != Position::shared && open.pipeline() &&
                    !(row.coordination == Coordination::collective && open.collective_direct);
  if (ours) {
    result = write(open, row, a);
    return true;
  }
  const bool all = row.direction == Direction::write && row.coordination == Coordination::collective;
  flushed = open.file->flush(all ? everything : touched(open, row, a));
  if (row.position == Position::individual) hand_over(open, a.entry);
  return false;
}

}  // namespace

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
    const MemoryType type = memory_type(a.type);
    open.file->note_direct_call(type.known ? type.size * static_cast<std::uint64_t>(a.count) : 0);
  }
  return flushed.ok() ? result : raise(open, flushed);
}

}  // namespace millrace::front
