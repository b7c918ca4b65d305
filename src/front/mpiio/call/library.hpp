// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/call.hpp"

namespace millrace::front {

// The way of the MPI library: the function that the program called. The library has the individual pointer.
int by_library(Call& call);
// The way of the library's independent function, for the same arguments. A collective call of the program
// becomes a call of this rank. The library checks the arguments.
int by_library_alone(Call& call);
// Before both, the pending bytes that the call may touch come to the file.

// Calls the MPI library's function of a row, on the handle `of`.
int call_library(const Row& row, const Arguments& arguments, MPI_File of);

// Calls the library's independent function on `arguments.file`. It is blocking unless the row is nonblocking.
int call_alone(const Row& row, const Arguments& arguments, MPI_Status* status);

// Lets the library check the datatype when this thread first uses it, mainly whether it is committed. Makes a
// call with 0 elements for that.
int examine(const Call& call);

}  // namespace millrace::front
