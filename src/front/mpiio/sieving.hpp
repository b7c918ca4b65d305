// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "front/mpiio/real.hpp"

namespace millrace::front {

// Data sieving: ROMIO writes pieces with holes by reading a part of the file, changing it and writing it
// back, under a lock of that part. On a file system of this machine the agent holds such locks for what it
// writes (io/posix/extent_lock.hpp), so what others put into the holes meanwhile is not undone. Elsewhere
// locks are dear, or there are none, and the library must not sieve beside the pipeline.
//
// The bytes that the library reads and rewrites at a time in this file; 0: it does not sieve, or must not.
std::uint64_t sieve_bytes(MPI_File handle, const std::string& path);

}  // namespace millrace::front
