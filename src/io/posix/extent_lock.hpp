// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::io {

// A lock on a part of a file during a write, against MPI libraries of this machine that rewrite the part.
// ROMIO writes pieces with holes by data sieving: it reads a part of the file, changes it and writes it back,
// under an fcntl(2) lock of that part. This would undo other writes there, so other writers hold the lock
// too. The lock belongs to the open file description and not to the process. So the process can close other
// descriptors of the file without losing the lock.
//
// The constructor waits for another ExtentLock, but only a few seconds for a lock of another process, such as
// ROMIO's. A lock that lasts longer is a program's own, which may last until this write is done. So the write
// goes ahead without the lock. It goes ahead at once if the other lock belongs to this process or has no end,
// or if the file system has no locks.
class ExtentLock {
 public:
  // `file` is open for writing, and stays open longer than the lock.
  ExtentLock(int file, std::uint64_t offset, std::uint64_t length);
  ~ExtentLock();
  ExtentLock(const ExtentLock&) = delete;
  ExtentLock& operator=(const ExtentLock&) = delete;

 private:
  const int file_;
  const std::uint64_t offset_, length_;
  bool held_ = false;
};

}  // namespace millrace::io
