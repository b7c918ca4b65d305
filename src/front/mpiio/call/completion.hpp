// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// Fills a status as the MPI library does after a transfer of `bytes` bytes. Does nothing for
// MPI_STATUS_IGNORE.
void set_status(MPI_Status* status, MPI_Count bytes);

// The same for the status that MPI asks of a request (MPI_Grequest_start).
void answer(MPI_Status* status, MPI_Count bytes);

// Makes a request that is already complete. Its status has `bytes` bytes.
int completed_request(MPI_Count bytes, MPI_Request* request);

// The bytes that the MPI library has moved.
MPI_Count bytes_of(const MPI_Status& status);

}  // namespace millrace::front
