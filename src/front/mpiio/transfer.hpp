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

// The arguments of a call. Arguments that its function lacks are 0, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE or
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
  bool goes_on = false;  // a further part of one call of the program
};

// True: Millrace has carried out the call, and `result` is its return value. False: the file is ready for the
// MPI library's own function (pending bytes, individual pointer), and `flushed` is the status of that.
bool before(Open& open, const Row& row, const Arguments& arguments, int& result, Status& flushed) noexcept;

// Called after the MPI library's function returned `result`. Returns the return value of the call.
int after(Open& open, const Row& row, const Arguments& arguments, int result, Status flushed) noexcept;

// For a file that is only read: the handle for a call, and the work after it.
inline MPI_File source_of(const Open& open, const Row& row) {
  return row.direction == Direction::read && row.position != Position::shared ? open.reading() : open.handle;
}
// Before a transfer of a handle that is the library's alone: asks for pending bytes.
Status ask_as_visitor(const Open& open, const Row& row) noexcept;
int was_read(Open& open, const Row& row, const Arguments& arguments, int result) noexcept;

// A transfer of device memory. False: the memory is the host's, or the call goes unchanged to the MPI
// library, which may support device memory.
bool staged(Open* open, const Row& row, const Arguments& arguments, int& result) noexcept;

// True if this write takes the pipeline or independent functions, on all ranks alike.
bool writes_alone(const Open& open, const Row& row);

// A transfer of a handle that is the library's alone.
template <class Real>
inline int visit(const Open& open, const Row& row, const Arguments& arguments, Real real) noexcept {
  const Status flushed = ask_as_visitor(open, row);
  const int result = real(arguments.file);
  return flushed.ok() ? result : raise(open, flushed);
}

// A transfer of memory that this process can access; `open` is null if the file is the library's alone.
// `real` calls the MPI library's own function for a handle.
template <class Real>
inline int host_transfer(Open* open, const Row& row, const Arguments& arguments, Real real) noexcept {
  if (open == nullptr) return real(arguments.file);
  if (open->location != Open::Location::everywhere && row.position == Position::shared)
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
  // The pipeline's writes look for a driver themselves, if they are large enough.
  if (open == nullptr || row.direction == Direction::read || !open->mapped) device::look();
  int result = MPI_SUCCESS;
  if (device::driver_seen.load(std::memory_order_relaxed) && scope.outermost() &&
      staged(open, row, arguments, result))
    return result;
  return host_transfer(open, row, arguments, real);
}

}  // namespace millrace::front
