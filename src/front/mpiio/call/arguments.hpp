// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

  constexpr unsigned number() const {
    return ((static_cast<unsigned>(direction) * 3 + static_cast<unsigned>(position)) * 2 +
            static_cast<unsigned>(coordination)) *
               4 +
           static_cast<unsigned>(completion);
  }
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
  bool large = false;                    // the function with large counts, MPI_..._c
  const client::TypeMap* map = nullptr;  // of `type`; only set if the file is in the table of open files
  bool goes_on = false;                  // a further part of one call of the program
};

}  // namespace millrace::front
