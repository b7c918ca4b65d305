// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/device/door.hpp"
#include "front/mpiio/first.hpp"
#include "front/mpiio/open.hpp"

namespace millrace::front {

// The attributes by which the transfer functions differ.
enum class Direction { read, write };
enum class Position { at, individual, shared };
enum class Coordination { independent, collective };
enum class Completion { blocking, nonblocking, split_begin, split_end };

struct Row {
  Direction direction;
  Position position;
  Coordination coordination;
  Completion completion;
};

// The arguments of a call; what its function does not have is 0, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE or
// nullptr.
struct Arguments {
  Entry entry;
  MPI_File file;
  MPI_Offset offset;  // etypes of the view
  void* memory;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Status* status;
  MPI_Request* request;
  bool goes_on = false;  // a further part of a call of the program's
};

// Carries the call out if it is Millrace's: true, and `result` is what it returns. Else makes the file fit
// for the MPI library's own function (pending bytes, individual pointer); `flushed` says how that went.
bool before(Open& open, const Row& row, const Arguments& arguments, int& result, Status& flushed) noexcept;

// After the MPI library's function returned `result`: what the call returns.
int after(Open& open, const Row& row, const Arguments& arguments, int result, Status flushed) noexcept;

// Of a file that is only read: where a call goes, and what follows it.
inline MPI_File source_of(const Open& open, const Row& row) {
  return row.direction == Direction::read && row.position != Position::shared ? open.reading() : open.handle;
}
// Before a handle that is the library's alone transfers: what others have pending.
Status ask_as_visitor(const Open& open, const Row& row) noexcept;
int was_read(Open& open, const Row& row, const Arguments& arguments, int result) noexcept;

// A transfer of device memory. False: it is none, or the MPI library shall see it as it is, which may know
// what to do with it.
bool staged(Open* open, const Row& row, const Arguments& arguments, int& result) noexcept;

// Whether this write goes by pipeline and independent functions, on all ranks alike.
bool writes_alone(const Open& open, const Row& row);

// Of a handle that is the library's alone.
template <class Real>
inline int visit(const Open& open, const Row& row, const Arguments& arguments, Real real) noexcept {
  const Status flushed = ask_as_visitor(open, row);
  const int result = real(arguments.file);
  return flushed.ok() ? result : raise(open, flushed);
}

// A transfer of memory that this process can use; `open` is null where the file is the library's alone.
// `real` calls the MPI library's own function for a handle.
template <class Real>
inline int host_transfer(Open* open, const Row& row, const Arguments& arguments, Real real) noexcept {
  if (open == nullptr) return real(arguments.file);
  if (open->place != Open::Place::everywhere && row.position == Position::shared)
    return not_on_first(*open, "using the shared file pointer");
  if (open->visitor) return visit(*open, row, arguments, real);
  if (open->reader != nullptr) {
    const MPI_File source = source_of(*open, row);
    if (source == open->handle) return was_read(*open, row, arguments, visit(*open, row, arguments, real));
    return was_read(*open, row, arguments, real(source));
  }
  int result = MPI_SUCCESS;
  Status flushed;
  if (before(*open, row, arguments, result, flushed)) return result;
  return after(*open, row, arguments, real(arguments.file), flushed);
}

// Every transfer function ends here.
template <class Real>
inline int transfer(const Row& row, const Arguments& arguments, Real real) noexcept {
  const Scope scope;
  Open* open = scope.find(arguments.file);
  // The pipeline's writes look for a driver themselves, where they are large enough to make up for it.
  if (open == nullptr || row.direction == Direction::read || !open->mapped) device::look();
  int result = MPI_SUCCESS;
  if (device::driver_seen.load(std::memory_order_relaxed) && scope.outermost() &&
      staged(open, row, arguments, result))
    return result;
  return host_transfer(open, row, arguments, real);
}

}  // namespace millrace::front
