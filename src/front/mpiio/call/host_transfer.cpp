// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// The one transfer behind all read and write functions.
//
// On a file that Millrace accelerates, a collective write never becomes the MPI library's collective write.
// The choice between pipeline and library depends on sizes and errors of this rank alone. If some ranks chose
// the collective write and others the pipeline, the ranks would wait for ever. A write that does not take the
// pipeline uses the library's independent function, which needs no other rank. Only atomic mode, set by all
// ranks, leaves collective writes to the library.
//
// The calls go one way: transfer() -> staged() for memory of a device -> host_transfer() -> before() ->
// write() or read() -> the library. staged() cuts a device's memory into parts of host memory, so
// the parts get the same choice of pipeline, direct write or first node as the program's own buffers.
#include "front/mpiio/call/host_transfer.hpp"

#include <new>
#include <utility>

#include "front/mpiio/call/completion.hpp"
#include "front/mpiio/call/library.hpp"
#include "front/mpiio/call/pending.hpp"
#include "front/mpiio/call/read.hpp"
#include "front/mpiio/call/write.hpp"
#include "front/mpiio/handles/table.hpp"

namespace millrace::front {
namespace {

// Ends a split collective that Millrace began. False: the call is the library's.
bool end_split(Open& open, const Row& row, const Arguments& a, int& result) {
  Split split;
  {
    const std::lock_guard guard(open.begun.split_lock);
    split = std::exchange(open.begun.split, {});
  }
  if (split.staged) {
    Arguments end = a;
    end.status = MPI_STATUS_IGNORE;
    result = end_library(row, end, a.file);
  } else if (split.state != Split::State::ours) {
    return false;
  }
  if (split.pending != nullptr) {
    const PendingResult ended = end_pending(*split.pending);
    split.bytes = ended.bytes;
    result = ended.error;
  }
  set_status(a.status, split.bytes);
  return true;
}

bool split_active(Open& open) {
  const std::lock_guard guard(open.begun.split_lock);
  return open.begun.split.state == Split::State::ours;
}

bool prepare(Call& call, int& result, Status& flushed) {
  Open& open = call.open;
  if (call.row.completion == Completion::split_end) return end_split(open, call.row, call.a, result);
  if (call.row.completion == Completion::split_begin && split_active(open)) {
    result = raise_class(open, MPI_ERR_IO);  // one split collective at a time; ROMIO returns the same error
    return true;
  }
  if (!call.writes()) return read(call, result, flushed);
  const bool all = call.row.coordination == Coordination::collective;
  note_write(open, all);
  if (writes_alone(open, call.row)) {
    result = write(call);
    return true;
  }
  flushed = open.file->prepare_direct_write(all ? everything : call.touched());
  if (call.moves_pointer()) open.pointer.give_to_library();
  return false;
}

}  // namespace

bool writes_alone(const Open& open, const Row& row) {
  return row.direction == Direction::write && open.writable && row.position != Position::shared &&
         (open.writes_alone() || open.first.location == Open::Location::elsewhere);
}

Status ask_as_guest(Open& open, const Row& row) noexcept {
  if (row.completion == Completion::split_end) return {};
  if (row.direction == Direction::write) note_write(open, false);
  return row.direction == Direction::read ? open.file->flush(everything)
                                          : open.file->prepare_direct_write(everything);
}

int was_read(Open& open, const Row& row, const Arguments& a, int result) noexcept {
  if (row.direction == Direction::read && row.completion != Completion::split_end && a.count > 0) {
    const std::uint64_t bytes = a.map != nullptr ? a.map->size * static_cast<std::uint64_t>(a.count) : 0;
    open.reads.reader->bytes.fetch_add(bytes, std::memory_order_relaxed);
    open.file->counts().read(bytes);
  }
  // The program has set its error handler on its own handle, not on that of the copy.
  if (result != MPI_SUCCESS && source_of(open, row) != open.handle)
    PMPI_File_call_errhandler(open.handle, result);
  return result;
}

bool read_past_copy(Open& open, const Row& row, const Arguments& a, int& result) noexcept {
  if (row.direction != Direction::read || row.position == Position::shared ||
      open.reads.reader->copy == MPI_FILE_NULL)
    return false;
  try {
    if (row.completion == Completion::split_end) return split_active(open) && end_split(open, row, a, result);
    const Status flushed = ask_as_guest(open, row);
    result = read_by_library({open, row, a});
    if (a.count > 0 && a.map != nullptr)
      open.reads.reader->bytes += a.map->size * static_cast<std::uint64_t>(a.count);
    if (!flushed.ok()) result = raise(open, flushed);
  } catch (const std::bad_alloc&) {
    result = raise(open, Code::no_memory);
  } catch (...) {
    result = raise(open, Code::io);
  }
  return true;
}

bool before(Open& open, const Row& row, const Arguments& a, int& result, Status& flushed) noexcept {
  try {
    Call call{open, row, a};
    return prepare(call, result, flushed);
  } catch (const std::bad_alloc&) {
    result = raise(open, Code::no_memory);
  } catch (...) {
    result = raise(open, Code::io);
  }
  return true;
}

int after(Open& open, const Row& row, const Arguments& a, int result, Status flushed) noexcept {
  if (row.completion == Completion::split_begin && result == MPI_SUCCESS) {
    const std::lock_guard guard(open.begun.split_lock);
    open.begun.split.state = Split::State::real;
  }
  if (result == MPI_SUCCESS && row.completion != Completion::split_end) {
    const std::uint64_t bytes = a.map != nullptr ? a.map->size * static_cast<std::uint64_t>(a.count) : 0;
    client::CallCounts& counts = open.file->counts();
    row.direction == Direction::read ? counts.read(bytes) : counts.moved_by_library(bytes);
  }
  return flushed.ok() ? result : raise(open, flushed);
}

}  // namespace millrace::front
