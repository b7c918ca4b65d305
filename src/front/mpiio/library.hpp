// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/transfer.hpp"

namespace millrace::front {

// The MPI library's own functions of a row, for `of`. `count` has to be an int.
int call_library(const Row& row, const Arguments& arguments, MPI_File of);   // blocking
int begin_library(const Row& row, const Arguments& arguments, MPI_File of);  // split, reads
int end_library(const Row& row, const Arguments& arguments, MPI_File of);    // split, reads

}  // namespace millrace::front
