// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "extent/extent.hpp"

namespace millrace::sink {

// A range of the file and the memory to write there, in order. A run may have gaps (io::Request).
struct WriteRun {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // gaps included
  std::vector<iovec> data;
  bool direct = false;
  std::uint64_t gaps = 0;
  std::uint64_t gap_bytes = 0;

  Extent extent() const { return {offset, offset + length}; }
  std::uint64_t payload() const { return length - gap_bytes; }
  // Adds a gap of bytes that the write does not change. Call append() next.
  void leave_gap(std::uint64_t bytes);
  // Appends memory for the next bytes, and joins it with the last piece if both are adjacent.
  void append(const std::byte* from, std::uint64_t bytes);
};

// Cuts a run into parts for the direct and the buffered handle, in file order. A 4 KiB block is written
// directly if the run has the whole block, in one aligned piece of memory. Direct parts below `direct_min`
// stay buffered.
//
//   file:  ..|....####|####|####|##..        # = bytes of the run
//            buffered | direct  | buffered
//
std::vector<WriteRun> split_direct(const WriteRun& run, std::uint64_t direct_min);

}  // namespace millrace::sink
