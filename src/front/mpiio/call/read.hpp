// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/call.hpp"

// Reads of an accelerated file, by one of these ways:
// - The ranks of a local file are all on one node, and share the kernel's page cache. So a collective read
//   needs no other rank's memory. A rank itself reads pieces with holes between them. For one piece, it calls
//   the library's independent function.
// - The agents of several nodes bring the bytes (open/open_read.hpp).
// - The file is on the first rank's node only (open/open_first.hpp). On that node, the library reads after a
//   flush, with its independent functions: in a collective function, a rank would read for ranks of other
//   nodes. On other nodes, the bytes come from that node's agent.
// - The MPI library's own function, after a flush.
namespace millrace::front {

// Carries out the read and returns true; `result` is the call's return value. False, on all ranks alike: the
// MPI library's own function has to read. The pending bytes and the pointer are ready for it, and `flushed`
// is the status of the flush.
bool read(Call& call, int& result, Status& flushed);

// Calls the library's independent function for the same arguments.
int read_by_library(const Call& call);

}  // namespace millrace::front
