// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// Fills a status as the MPI library would after a transfer of `bytes` bytes; MPI_STATUS_IGNORE is left.
void set_status(MPI_Status* status, MPI_Count bytes);

// A request that is already complete, with that status.
int completed_request(MPI_Count bytes, MPI_Request* request);

}  // namespace millrace::front
