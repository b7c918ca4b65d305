// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "front/mpiio/real.hpp"

namespace millrace::front {

// Data sieving: pieces with holes are written by reading a part of the file, changing it and writing it back,
// under a lock of that part. Whoever else writes to the file has to hold such locks too. On a file system of
// this machine the agent does (io/posix/extent_lock.hpp), and so does ROMIO, where a rank's view has no map.
// Open MPI does not. Elsewhere locks are dear, or there are none.
//
// How many bytes a part of this file may have; 0: nobody may sieve.
std::uint64_t sieve_bytes(MPI_File handle, const std::string& path);

}  // namespace millrace::front
