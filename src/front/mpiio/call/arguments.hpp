// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "front/mpiio/handles/open.hpp"

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

// The MPI library's function that the program called, with the program's arguments, on a handle. Refers to a
// callable that outlives it.
class LibraryFunction {
 public:
  template <class Callable>
  requires(!std::is_same_v<Callable, LibraryFunction>)
      LibraryFunction(const Callable& callable)  // NOLINT(google-explicit-constructor): hooks pass a lambda
      : callable_(&callable),
        call_([](const void* of, MPI_File file) { return (*static_cast<const Callable*>(of))(file); }) {}

  int operator()(MPI_File file) const { return call_(callable_, file); }

 private:
  const void* callable_;
  int (*call_)(const void*, MPI_File);
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
  const client::TypeMap* map = nullptr;  // of `type`; only set if the file is in the table of open files
  bool goes_on = false;                  // a further part of one call of the program
};

}  // namespace millrace::front
