// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "front/mpiio/arguments.hpp"

namespace millrace::front {

// Reads of a local file whose ranks are all on one node. All of them share the kernel's page cache, so a
// collective read needs no other rank's memory. A rank reads pieces with holes between them itself, and one
// piece by the library's independent function.

// Whether this rank may read a file so: its file system is this machine's, and the settings leave no calls to
// the library. All ranks have to agree.
bool may_read_alone(const std::string& path, const Settings& settings);

// True if this read needs no other rank, on all ranks alike.
bool reads_alone(const Open& open, const Row& row);

// Carries out such a read and returns true; `result` is its return value. False: the read is the MPI
// library's own function's, on all ranks alike.
bool read_alone(Open& open, const Row& row, const Arguments& arguments, int& result);

// The library's independent function for the same arguments; the count of a split collective is kept for its
// end.
int read_independent(Open& open, const Row& row, const Arguments& arguments);

}  // namespace millrace::front
