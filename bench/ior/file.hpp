// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>

#include "ior/options.hpp"

namespace bench {

// One open test file of one rank. Every call throws std::runtime_error with the reason when it fails or moves
// fewer bytes than asked. Collective calls are collective. Not thread safe.
class TestFile {
 public:
  virtual ~TestFile() = default;
  virtual void write(const void* data, std::uint64_t size, std::uint64_t offset) = 0;
  virtual void read(void* data, std::uint64_t size, std::uint64_t offset) = 0;
  virtual void sync() = 0;
  virtual void close() = 0;
};

// Opens for writing (created if missing) or reading. `comm` is MPI_COMM_SELF for a file per process.
std::unique_ptr<TestFile> open_file(const IorOptions& options, const std::string& path, bool writing,
                                    MPI_Comm comm, int view_rank, int view_ranks);

}  // namespace bench
