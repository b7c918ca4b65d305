// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "client/view/view.hpp"
#include "io/posix/gap_lock.hpp"

namespace millrace::client {

// The file that a sieve rewrites.
class SievedFile {
 public:
  virtual ~SievedFile() = default;
  // Waits until no other process has a lock on any byte of `extent`, and locks it. A process has one lock at
  // most. `brief`: for one small write. False: a program has a lock of its own there, so bytes between the
  // pieces may not be rewritten.
  virtual bool lock(Extent extent, bool brief) = 0;
  virtual void unlock() = 0;
  // Fills `into` from `offset` on; zeros behind the end of the file.
  virtual Status read(std::uint64_t offset, std::span<std::byte> into) = 0;
  virtual Status write(std::uint64_t offset, std::span<const std::byte> from) = 0;
};

// Writes pieces with holes between them by data sieving: it locks a part of the file, reads it, changes it
// and writes it back. A few large calls cost less than many small ones. Bytes that other processes write in
// the holes stay, if these processes lock too (io/posix/extent_lock.hpp; ROMIO takes the same locks). A part
// that cannot be locked is written piece by piece, and so is one of a file to which other processes write
// pieces without a lock (io/posix/gap_lock.hpp). Holes that no process has written become zeros.
class Sieve {
 public:
  // `gaps` belongs to the file; nullptr: nobody else writes it.
  explicit Sieve(io::GapLock* gaps = nullptr) : gaps_(gaps) {}

  // `file` is open for reading and writing. The function stops at the first error. Threads of a process take
  // turns, because the whole process owns the lock.
  Status write(int file, PieceSource& source, const Sweep& sweep);
  Status write(SievedFile& file, std::span<const Piece> pieces, const Sweep& sweep);

 private:
  Status take(SievedFile& file, std::span<const Piece> batch, const Sweep& sweep);
  Status put(SievedFile& file);
  Status put_pieces(SievedFile& file);
  Status put_part(SievedFile& file, bool holes);

  io::GapLock* const gaps_;
  std::mutex mutex_;
  std::vector<Piece> pieces_;  // of the current part, in ascending order
  Extent hull_{};              // of these pieces
  std::vector<std::byte> part_;
};

}  // namespace millrace::client
