// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/call/arguments.hpp"

namespace millrace::front {

// Reads of a local file whose ranks are all on one node. All of them share the kernel's page cache, so a
// collective read needs no other rank's memory. A rank itself reads pieces with holes between them. For one
// piece, it calls the library's independent function.

// True if this read needs no other rank, on all ranks alike.
bool reads_alone(const Open& open, const Row& row);

// Carries out the read and returns true; `result` is the call's return value. False, on all ranks alike: the
// MPI library's own function has to read.
bool read_alone(Open& open, const Row& row, const Arguments& arguments, int& result);

// Reads the pieces of a call, from the file or through the agents, and returns true; `result` is the call's
// return value. False: the library has to read. At most the memory of the read has changed.
bool read_pieces(Open& open, const Row& row, const Arguments& arguments, int& result);

// Calls the library's independent function for the same arguments. Keeps the count of a split collective for
// its end.
int read_independent(Open& open, const Row& row, const Arguments& arguments);

}  // namespace millrace::front
