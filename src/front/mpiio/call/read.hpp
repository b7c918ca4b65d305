// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/call.hpp"

// The ways of reads that are not the MPI library's functions.
namespace millrace::front {

// Lets a collective read find the earlier writes of all ranks, where they are not in one page cache or where
// the read will need no other rank. MPI requires the program to sync in between. But I/O libraries do not,
// because on one node they need no sync. A non-blocking read must not wait for other ranks, so it has no such
// guarantee. Lets reads from a server find what this process has written by other handles.
Status meet_before_reading(const Call& call);

// True if this read needs no other rank, on all ranks alike: the ranks are on one node and share the kernel's
// page cache, or the agents carry reads.
bool reads_alone(const Call& call);
// True if the arguments are sound and ask for bytes. Then the place of the pieces is known.
bool has_pieces(Call& call);
// True if the agents should carry this read.
bool goes_through(const Call& call);

// The agents of several nodes bring the bytes (open/open_read.hpp).
int from_agents(Call& call);
// This process reads pieces with holes between them from the file.
int read_by_own_pieces(Call& call);
// With target=first, on a node without the file (open/open_first.hpp): the agent of the first rank's node has
// the bytes.
int from_server(Call& call);
// From the copy on this node.
int from_copy(Call& call);

}  // namespace millrace::front
