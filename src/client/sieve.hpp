// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "client/view.hpp"

namespace millrace::client {

// Writes pieces with holes between them by data sieving: it locks a part of the file, reads it, changes it
// and writes it back. A few large calls cost less than many small ones. Other processes' bytes in the holes
// stay if they lock too (io/posix/extent_lock.hpp; ROMIO takes the same locks). Holes that no process has
// written become zeros.
class Sieve {
 public:
  // `file` is open for reading and writing. Stops at the first error. Threads of a process take turns,
  // because the lock is the process's.
  Status write(int file, PieceSource& source, const Sweep& sweep);

 private:
  Status put(int file, std::uint64_t begin, std::uint64_t end);

  std::mutex mutex_;
  std::vector<Piece> pieces_;  // of the part at hand, in ascending order
  std::vector<std::byte> part_;
};

}  // namespace millrace::client
