// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace bench {

// One sequential stream into one new file. [0, size) is written in pieces of `transfer` bytes.
struct Stream {
  std::string path;
  std::uint64_t size = 0;
  std::uint64_t transfer = 1 << 20;
  std::uint64_t seed = 0;
  bool fsync = true;
  unsigned depth = 1;               // direct only: writes in flight
  std::uint64_t pace = 8ULL << 20;  // paced only: bytes between two starts of writeback
};

// Seconds from open to close of each way to write it. All throw std::runtime_error with the reason.
double write_buffered(const Stream& stream);
// Buffered, but the kernel is told to begin writing back what lies behind the writer.
double write_paced(const Stream& stream);
// O_DIRECT into a preallocated file, `depth` threads that each keep one write in flight.
double write_direct(const Stream& stream);

}  // namespace bench
