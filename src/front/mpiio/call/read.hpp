// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/call.hpp"

// The ways of reads that are not the MPI library's own function.
namespace millrace::front {

// Without another rank. The ranks of a local file are all on one node, and share the kernel's page cache, so
// a collective read needs no other rank's memory. A rank reads pieces with holes between them itself, and one
// piece by the library's independent function. Or the agents of several nodes bring the bytes
// (open/open_read.hpp).
int read_alone(Call& call);

// With target=first, where the file is on the first rank's node only (open/open_first.hpp). There, the
// library reads after a flush, with its independent functions: in a collective function, a rank would read
// for ranks of other nodes. On other nodes, the bytes come from that node's agent.
int beside_server(Call& call);
int from_server(Call& call);

// From the copy on this node; or from the file itself, after this process has written it.
int from_copy(Call& call);
int past_copy(Call& call);

}  // namespace millrace::front
