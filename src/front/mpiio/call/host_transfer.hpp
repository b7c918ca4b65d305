// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/library_call.hpp"
#include "front/mpiio/call/arguments.hpp"
#include "front/mpiio/open/open_first.hpp"

namespace millrace::front {

// True: Millrace has carried out the call, and `result` is its return value. False: the caller calls the MPI
// library's own function. Pending bytes and the individual pointer are ready for it, and `flushed` is the
// status of the flush.
bool before(Open& open, const Row& row, const Arguments& arguments, int& result, Status& flushed) noexcept;

// Called after the MPI library's function returned `result`. Returns the return value of the call.
int after(Open& open, const Row& row, const Arguments& arguments, int result, Status flushed) noexcept;

// For a file that is only read: the handle for a call, and the work after it.
inline MPI_File source_of(const Open& open, const Row& row) {
  if (row.direction != Direction::read || row.position == Position::shared) return open.handle;
  // A split collective may have begun before the rank left its copy.
  const bool ends_on_copy =
      row.completion == Completion::split_end && open.reads.reader->copy != MPI_FILE_NULL;
  return ends_on_copy ? open.reads.reader->copy : open.reading();
}
// Asks for pending bytes, before a transfer of a handle that is left to the library.
Status ask_as_guest(Open& open, const Row& row) noexcept;
int was_read(Open& open, const Row& row, const Arguments& arguments, int result) noexcept;
// Carries out a read of a file of which this node has a copy, after this process has written the file. False:
// nothing has been done, because the call is not such a read.
bool read_past_copy(Open& open, const Row& row, const Arguments& arguments, int& result) noexcept;

// True if this write takes the pipeline or independent functions, on all ranks alike.
bool writes_alone(const Open& open, const Row& row);

// Carries out a transfer of a handle that is left to the library.
template <class Real>
inline int call_as_guest(Open& open, const Row& row, const Arguments& arguments, Real real) noexcept {
  const Status flushed = ask_as_guest(open, row);
  const LibraryCall under_way;
  const int result = real(arguments.file);
  return flushed.ok() ? result : raise(open, flushed);
}

// Carries out a transfer of memory that this process can access. `open` is null for a file that is left to
// the library. `real` calls the MPI library's own function on a handle.
template <class Real>
inline int host_transfer(Open* open, const Row& row, const Arguments& arguments, Real real) noexcept {
  if (open == nullptr) return real(arguments.file);
  if (open->first.location != Open::Location::everywhere && row.position == Position::shared)
    return not_on_first(*open, "using the shared file pointer");
  if (open->guest) return call_as_guest(*open, row, arguments, real);
  if (open->reads.reader != nullptr) {
    const MPI_File source = source_of(*open, row);
    int result = MPI_SUCCESS;
    if (open->reads.reader->left && read_past_copy(*open, row, arguments, result)) return result;
    if (source == open->handle)
      return was_read(*open, row, arguments, call_as_guest(*open, row, arguments, real));
    return was_read(*open, row, arguments, real(source));
  }
  int result = MPI_SUCCESS;
  Status flushed;
  if (before(*open, row, arguments, result, flushed)) return result;
  const LibraryCall under_way;
  return after(*open, row, arguments, real(arguments.file), flushed);
}

}  // namespace millrace::front
