// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "front/mpiio/real.hpp"

namespace millrace::front {

// Data sieving writes pieces with holes: it reads a part of the file, changes it and writes it back, under a
// lock of that part. All other writers of the file have to hold such locks too. On a local file system, the
// agent holds them (io/posix/extent_lock.hpp). A view without a map is written without sieving
// (call/unmapped.hpp), because Open MPI takes no lock, and ROMIO rewrites larger holes than others hold locks
// for. On other file systems, locks are slow or missing.
//
struct Sieving {
  bool by_library = true;  // the library's independent function may sieve: ROMIO, but not OMPIO (ADR 19)
  std::uint64_t window =
      0;  // the largest part of this file that sieving may rewrite at once; 0: it is not safe
};
Sieving sieving_of(MPI_File handle, const std::string& path);

}  // namespace millrace::front
