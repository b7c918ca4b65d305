// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/call/completion.hpp"

#include <cstdint>

namespace millrace::front {
namespace {

// The pointer itself holds the number of bytes, so nothing is allocated or freed.
int tell_bytes(void* state, MPI_Status* status) {
  answer(status, static_cast<MPI_Count>(reinterpret_cast<std::intptr_t>(state)));
  return MPI_SUCCESS;
}
int release_nothing(void*) { return MPI_SUCCESS; }
int cancel_nothing(void*, int) { return MPI_SUCCESS; }  // too late: the transfer is complete

}  // namespace

void set_status(MPI_Status* status, MPI_Count bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  PMPI_Status_set_cancelled(status, 0);
}

int completed_request(MPI_Count bytes, MPI_Request* request) {
  void* const state = reinterpret_cast<void*>(static_cast<std::intptr_t>(bytes));
  const int error = PMPI_Grequest_start(tell_bytes, release_nothing, cancel_nothing, state, request);
  return error != MPI_SUCCESS ? error : PMPI_Grequest_complete(*request);
}

void answer(MPI_Status* status, MPI_Count bytes) {
  set_status(status, bytes);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
}

MPI_Count bytes_of(const MPI_Status& status) {
  MPI_Count bytes = 0;
  return PMPI_Get_elements_x(&status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0 ? bytes : 0;
}

}  // namespace millrace::front
