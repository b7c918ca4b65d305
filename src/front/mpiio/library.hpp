// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/arguments.hpp"

namespace millrace::front {

// The MPI library's own functions of a row, for `of`. `count` has to be an int.
int call_library(const Row& row, const Arguments& arguments, MPI_File of);   // blocking
int begin_library(const Row& row, const Arguments& arguments, MPI_File of);  // split, reads
int end_library(const Row& row, const Arguments& arguments, MPI_File of);    // split, reads

// The independent function for the same arguments and `a.file`; blocking unless the row is nonblocking.
int call_alone(const Row& row, const Arguments& arguments, MPI_Status* status);

// Lets the library check the datatype (mainly whether it is committed) when this thread uses it for the first
// time. A call with 0 elements does that.
int examine(const Open& open, Direction direction, const Arguments& arguments);

}  // namespace millrace::front
