// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::io {

// Keeps MPI libraries of this machine's processes from rewriting a part of a file during a write. ROMIO
// writes pieces with holes by data sieving: it reads a part of the file, changes it and writes it back, under
// an fcntl(2) lock of that part. That would undo other writes there, so other writers hold the lock too. This
// lock belongs to the open file description and not to the process, so closing another descriptor does not
// drop it.
//
// Waits for another ExtentLock, and a few seconds at most for a lock of another process, such as ROMIO's. A
// lock that lasts longer is a program's own. That program may keep it until this write is done, so the write
// goes ahead. The write goes ahead at once if the lock belongs to this process or has no end, or if the file
// system has no locks.
class ExtentLock {
 public:
  // `file` is open for writing and outlives the lock.
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
