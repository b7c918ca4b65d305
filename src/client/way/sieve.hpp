// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
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
  using GapPlace = io::GapLock::GapPlace;

  // Of a file that nobody else writes.
  Sieve() = default;
  // `find` tells the place of the file, at the first need.
  explicit Sieve(std::function<GapPlace()> find) : gaps_(std::in_place, std::move(find)) {}

  // `file` is open for reading and writing. The function stops at the first error. Threads of a process take
  // turns, because the whole process owns the lock.
  Status write(int file, PieceSource& source, const SieveBounds& sweep);
  Status write(SievedFile& file, std::span<const Piece> pieces, const SieveBounds& sweep);

  // True: until end_unlocked(), no process sieves the file, so a piece may be written without a lock. False:
  // write() has to write it. The first answer after let_sieve() is false.
  bool begin_unlocked() { return gaps_ && gaps_->begin(io::GapLock::WriterKind::pieces); }
  void end_unlocked() { gaps_->end(); }
  // From now on, other processes may sieve.
  void let_sieve() {
    if (gaps_) gaps_->leave();
  }

 private:
  Status take(SievedFile& file, std::span<const Piece> batch, const SieveBounds& sweep);
  Status put(SievedFile& file);
  Status put_pieces(SievedFile& file);
  Status put_part(SievedFile& file, bool holes);

  std::optional<io::GapLock> gaps_;
  std::mutex mutex_;
  std::vector<Piece> pieces_;  // of the current part, in ascending order
  Extent hull_{};              // of these pieces
  std::vector<std::byte> part_;
};

}  // namespace millrace::client
