// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// Fills a status as the MPI library does after a transfer of `bytes` bytes. Does nothing for
// MPI_STATUS_IGNORE.
void set_status(MPI_Status* status, MPI_Count bytes);

// Makes a request that is already complete. Its status has `bytes` bytes.
int completed_request(MPI_Count bytes, MPI_Request* request);

// Begins a split collective that the MPI library does not see. Keeps the count for the call that ends it.
int begin_split(Open& open, MPI_Count bytes);

}  // namespace millrace::front
