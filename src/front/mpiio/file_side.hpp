// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "front/mpiio/arguments.hpp"
#include "staging/entry.hpp"

namespace millrace::front {

// The file's end of a transfer of device memory. Bytes come and go in host memory, each time with a call of
// MPI_BYTE that the program could have made. Bytes that do not fill an etype wait for the following ones.
class FileSide {
 public:
  // `row` is blocking. `open` may be null: a file that is the MPI library's alone.
  FileSide(Open* open, const Row& row, const Arguments& arguments, std::uint64_t etype_bytes);

  ssize_t write(const std::byte* from, std::size_t bytes);  // all of them, or -EIO
  ssize_t read(std::byte* into, std::size_t bytes);         // fewer at the file's end; or -EIO

  // An MPI error class, which has been raised.
  int error() const { return error_; }
  // True if the file's pointer is behind the bytes that arrived, and cannot move back.
  bool torn() const { return torn_; }
  bool ended() const { return ended_; }
  staging::HostEnd end();

 private:
  // Bytes that one call has moved; 0 after an error.
  std::size_t move(std::byte* memory, std::size_t bytes);

  Open* open_;
  Row row_;
  Arguments part_;
  std::uint64_t etype_;
  std::vector<std::byte> rest_;  // less than an etype
  int error_ = MPI_SUCCESS;
  bool torn_ = false;
  bool ended_ = false;
};

}  // namespace millrace::front
