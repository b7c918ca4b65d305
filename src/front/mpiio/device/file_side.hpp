// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "front/mpiio/call/arguments.hpp"
#include "staging/entry.hpp"

namespace millrace::front {

// The file's end of a transfer of device memory. The bytes are in host memory. Each step is a call with
// MPI_BYTE that the program itself could have made. Bytes that do not fill an etype wait for the next step.
// For one thread.
class FileSide {
 public:
  // `row` is blocking. `open` is null for a file that is left to the MPI library.
  FileSide(Open* open, const Row& row, const Arguments& arguments, std::uint64_t etype_bytes);

  ssize_t write(const std::byte* from, std::size_t bytes);  // all bytes, or -EIO
  ssize_t read(std::byte* into, std::size_t bytes);         // fewer at the file's end; or -EIO

  // The MPI error of a call; the file's error handler has been called with it.
  int error() const { return error_; }
  // True if the device did not take all bytes that were read. The file's pointer has passed them and cannot
  // move back.
  bool torn() const { return torn_; }
  bool ended() const { return ended_; }
  staging::HostEnd end();

 private:
  // Makes one call and returns the number of bytes moved; 0 after an error.
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
