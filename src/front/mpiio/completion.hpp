// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/arguments.hpp"

namespace millrace::front {

// Fills a status as the MPI library would after a transfer of `bytes` bytes; MPI_STATUS_IGNORE is left.
void set_status(MPI_Status* status, MPI_Count bytes);

// A request that is already complete, with that status.
int completed_request(MPI_Count bytes, MPI_Request* request);

// Begins a split collective that the library does not see, with the count for its end.
int begin_split(Open& open, MPI_Count bytes);

// Completes a call whose bytes have left the program's memory.
int complete(Open& open, const Row& row, const Arguments& arguments, std::uint64_t bytes);

}  // namespace millrace::front
