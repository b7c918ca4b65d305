// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "client/file/target_file.hpp"

// Files on file systems that do not keep the caches of nodes coherent, such as NFS (ADR 27).
namespace millrace::front {

// True if this rank's node sees the file on such a file system, and the launcher does not say that all ranks
// of the program are on this node: then they share one cache. Asks no server.
bool may_be_incoherent(const client::TargetFile& found);

// The number of the program's ranks. 0: a program with MPI sessions has no world.
std::uint32_t ranks_of_world();

}  // namespace millrace::front
