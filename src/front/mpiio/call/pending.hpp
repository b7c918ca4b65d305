// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/call.hpp"

namespace millrace::front {

// Reads through the agents whose bytes are on their way while the program computes (ADR 24). Their requests
// are complete for MPI from the start. MPI_Wait and MPI_Test then ask for the status, and the answer to this
// question waits for the bytes. Every MPI library asks so, and no thread has to poll.
//
// If the agents fail, the library's independent function reads the bytes then. It needs the view of the call,
// so a read ends before the view changes and before the file is closed. MPI demands that of the program.

// True if this read can end later.
bool can_pend(const Call& call);

// Begins a non-blocking read or a split collective, and completes the call. Returns its return value, or
// `unread`: nothing has happened.
int begin_pending(const Call& call);

// Waits for the bytes. Returns the number of bytes and the error of the read.
struct PendingResult {
  MPI_Count bytes;
  int error;
};
PendingResult end_pending(Pending& pending);
// The same for all reads of a file.
void end_all_pending(Open& open);

}  // namespace millrace::front
