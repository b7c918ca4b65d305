// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace millrace::io {

// Keeps MPI libraries of this machine's processes from rewriting a part of a file meanwhile. ROMIO writes
// pieces with holes by reading a part of the file, changing it and writing it back ("data sieving"), under an
// fcntl(2) lock of that part: what others write there must not be undone, so they hold the lock too. This one
// belongs to the open file description and not to the process, so closing another descriptor leaves it.
//
// Waits for another ExtentLock, and a few seconds at most for a lock of another process, as those of ROMIO
// are. Longer, it is some program's own, who may keep it until this write is done, and the write goes ahead.
// So it does at once where the lock is of this process or of all that follows its begin, and where the file
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
