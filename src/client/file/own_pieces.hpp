// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "client/file/process.hpp"
#include "client/file/target_file.hpp"
#include "client/view/view.hpp"
#include "client/way/sieve.hpp"

namespace millrace::client {

// The way of pieces that this process reads and writes by itself, past the MPI library and the pipeline: by
// pread, pwrite and data sieving. It opens the file once more, at the first need. The agent has the other
// descriptor, and locks belong to an open file description: by the same one, the locks of this rank and of
// the agent would not exclude each other. Thread safe.
class OwnPieces {
 public:
  OwnPieces(const Process& process, const TargetFile& target, bool writable)
      : process_(process), target_(target), writable_(writable) {}

  // Writes pieces, with holes between them by data sieving. False: the file cannot be opened for reading and
  // writing here, and nothing was written.
  bool write(PieceSource& source, const SieveBounds& sweep, Status& status);
  // Not ok: the file cannot be read here, or it ends before the last piece. The memory of the pieces may then
  // have any contents.
  Status read(PieceSource& source);

  // True: until end_unlocked(), the MPI library may write a piece that fits into a hole (Sieve).
  bool begin_unlocked() { return !process_.is_child() && sieve_.begin_unlocked(); }
  void end_unlocked() { sieve_.end_unlocked(); }
  // Call it in collective calls: from now on, other ranks may have to sieve.
  void let_sieve() {
    if (!process_.is_child()) sieve_.let_sieve();
  }
  void close();

 private:
  static constexpr int not_known = -2;

  // A descriptor for reading, and for writing too if the open may write. -1: the file cannot be opened so.
  int file() {
    const int known = number_.load(std::memory_order_acquire);
    return known != not_known ? known : open();
  }
  int open();

  const Process& process_;
  const TargetFile& target_;
  const bool writable_;
  std::mutex mutex_;
  Fd file_;
  std::atomic<int> number_{not_known};  // of file_
  Sieve sieve_{[this] { return Sieve::GapPlace{target_.open_folders_to_hold(), target_.number()}; }};
};

}  // namespace millrace::client
