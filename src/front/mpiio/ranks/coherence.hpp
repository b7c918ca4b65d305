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

// True if ranks of other nodes may write the file, by this handle or by another one. `members`: the ranks of
// the file, if all are on this node; else 0. The answer is the same on all of them.
bool others_may_write(std::uint32_t members);

}  // namespace millrace::front
