// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "base/fd.hpp"

namespace millrace::io {

// Keeps two kinds of writers of a file apart: those that write pieces without a lock, and those that sieve,
// so that they rewrite the bytes between their pieces. At any time, all writers on a machine are of one kind.
// A GapLock takes a kind if no other GapLock has the other kind, and keeps it until leave(). So a writer of
// many small pieces needs two system calls in all, in place of a lock for each piece.
//
// Each kind of a file is a byte, far behind the end of every file, in the lock spaces of two folders. A
// writer holds a shared fcntl(2) lock of its byte in both. The root folder is the same for all names of a
// file, and the file's own folder is the same for containers that share it. Programs lock files, and not
// folders, so no program waits for these locks. The kernel drops them when a process dies. Thread safe.
class GapLock {
 public:
  enum class WriterKind : std::uint8_t { pieces, sieve };
  struct GapPlace {
    std::array<Fd, 2> folders;  // open for reading; not valid: begin() is always false
    std::uint64_t file = 0;     // a number of the file
  };

  // `find` tells the place of the file, at the first need.
  explicit GapLock(std::function<GapPlace()> find) : find_(std::move(find)) {}
  GapLock(const GapLock&) = delete;
  GapLock& operator=(const GapLock&) = delete;

  // True: until end(), no writer of the other kind writes the file. False: the writer has to lock each piece,
  // and may not rewrite other bytes. For pieces, this is also the answer to the first call after leave(): a
  // single piece is written faster with a lock of its own, and leaves the file to those who sieve.
  bool begin(WriterKind kind);
  void end() { under_way_.fetch_sub(1); }
  // Call it where ranks meet, and where the writes of this kind end. Nothing happens while another thread is
  // between begin() and end().
  void leave();

 private:
  enum class Held : std::uint8_t { nothing, pieces, sieve };

  static Held held_for(WriterKind kind) { return kind == WriterKind::pieces ? Held::pieces : Held::sieve; }
  bool change_to(WriterKind kind);
  bool take(WriterKind kind);
  bool drop();
  bool set(WriterKind kind, short type) const;  // in both folders
  bool is_free(WriterKind kind) const;

  const std::function<GapPlace()> find_;
  std::mutex mutex_;
  GapPlace place_;
  bool found_ = false;
  std::atomic<Held> held_{Held::nothing};
  std::atomic<std::uint32_t> pieces_asked_{0};  // since leave()
  std::atomic<std::uint32_t> under_way_{0};     // calls between begin() and end()
};

}  // namespace millrace::io
