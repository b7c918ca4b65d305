// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "front/mpiio/mpi.hpp"

namespace millrace::front {

// Puts the bytes of a datatype without a map in order. The MPI library itself orders them, by writing them to
// a file in memory. So they are the bytes that the library would have written. One thread uses an object; all
// objects of a process share the file, under a lock.
//
// The library's own write into a view with holes may read the holes and write them back (data sieving). That
// would undo bytes that the agent has put there meanwhile for other ranks.
class Linear {
 public:
  // For `count` elements of `type` with `size` bytes of data each.
  Linear(const void* memory, MPI_Datatype type, MPI_Count count, std::uint64_t size);

  // Puts the next elements into `bytes`: about a mebibyte, or one element. False at the end, or if the
  // library fails.
  bool next();
  const std::vector<std::byte>& bytes() const { return bytes_; }
  bool failed() const { return failed_; }

 private:
  const std::byte* memory_;
  MPI_Datatype type_;
  MPI_Count left_;
  std::uint64_t size_;
  MPI_Aint extent_ = 0;
  bool failed_ = false;
  std::vector<std::byte> bytes_;
};

// Closes the file in memory. Call it before MPI_Finalize. A later Linear makes the file again.
void end_linear();

}  // namespace millrace::front
