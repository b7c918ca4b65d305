// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::io {

// A lock on a part of a file during a write, against processes of this machine that rewrite the part. ROMIO
// writes pieces with holes by data sieving: it reads a part of the file, changes it and writes it back, under
// an fcntl(2) lock of that part. This would undo other writes there, so other writers hold the lock too. The
// lock belongs to the open file description and not to the process. So the process can close other
// descriptors of the file without losing the lock.
//
// A program may hold such a lock of its own for as long as it likes, and fcntl(2) does not tell whose lock it
// is. So a lasting ExtentLock is two locks: the part, and before it the same part far behind the end of every
// file, where no program locks. There one ExtentLock waits for another. If the part itself is then still
// locked through another open file description, the lock is a program's, or a brief one.
//
// The constructor waits for another lasting ExtentLock, but only a few seconds for a lock of another process,
// such as ROMIO's. A lock that lasts longer is a program's own, which may last until this write is done. Then
// the write goes ahead, and locks only the other bytes. It does so at once if the program's lock has lasted
// so long before, belongs to an open file description or to this process (LibraryCall), or has no end. If the
// file system has no locks, nothing is locked.
class ExtentLock {
 public:
  enum class Hold : bool {
    brief,    // for one small write: takes half the time, and no other ExtentLock waits for it
    lasting,  // for a large write, or if bytes between those to write are read and written back
  };
  // `file` is open for writing, and stays open longer than the lock.
  ExtentLock(int file, std::uint64_t offset, std::uint64_t length, Hold hold = Hold::lasting);
  ~ExtentLock();
  ExtentLock(const ExtentLock&) = delete;
  ExtentLock& operator=(const ExtentLock&) = delete;

  // False: some bytes of the extent have no lock, and may not be written back.
  bool complete() const { return complete_; }

 private:
  bool take(std::uint64_t offset, std::uint64_t length);
  bool exclude_others();
  void take_parts();

  const int file_;
  const std::uint64_t offset_, length_;
  bool excludes_ = false;  // has the lock behind the end of the file
  bool held_ = false;
  bool complete_ = false;
};

}  // namespace millrace::io
