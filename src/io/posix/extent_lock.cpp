// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/extent_lock.hpp"

#include <fcntl.h>

#include <cerrno>

namespace millrace::io {

namespace {

struct flock lock_of(std::uint64_t offset, std::uint64_t length, short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = static_cast<off_t>(length);
  return lock;
}

}  // namespace

ExtentLock::ExtentLock(int file, std::uint64_t offset, std::uint64_t length)
    : file_(file), offset_(offset), length_(length) {
  if (length == 0) return;  // to fcntl(2), the rest of the file
  for (;;) {
    struct flock lock = lock_of(offset, length, F_WRLCK);
    held_ = ::fcntl(file, F_OFD_SETLK, &lock) == 0;
    if (held_ || (errno != EAGAIN && errno != EACCES)) return;
    lock = lock_of(offset, length, F_WRLCK);
    if (::fcntl(file, F_OFD_GETLK, &lock) != 0 || (lock.l_type != F_UNLCK && lock.l_len == 0)) return;
    lock = lock_of(offset, length, F_WRLCK);
    held_ = ::fcntl(file, F_OFD_SETLKW, &lock) == 0;
    if (held_ || errno != EINTR) return;
  }
}

ExtentLock::~ExtentLock() {
  if (!held_) return;
  struct flock lock = lock_of(offset_, length_, F_UNLCK);
  (void)::fcntl(file_, F_OFD_SETLK, &lock);
}

}  // namespace millrace::io
