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

// Writes pieces with holes between them by data sieving: a part of the file is locked, read, changed and
// written back, because a few large calls cost less than many small ones. What others put into the holes
// under such a lock (io/posix/extent_lock.hpp; ROMIO locks so too) stays. Holes that nobody has written are
// zeros.
class Sieve {
 public:
  // `file` is open for reading and writing. Stops at the first error. Threads of a process take turns: the
  // lock does not part them.
  Status write(int file, PieceSource& source, const Sweep& sweep);

 private:
  Status put(int file, std::uint64_t begin, std::uint64_t end);

  std::mutex mutex_;
  std::vector<Piece> pieces_;  // of the part at hand, in ascending order
  std::vector<std::byte> part_;
};

}  // namespace millrace::client
