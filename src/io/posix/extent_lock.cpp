// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/extent_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace millrace::io {

namespace {

constexpr pid_t of_an_open_file = -1;  // F_OFD_GETLK returns this for an ExtentLock
// The time between two looks at another process's lock: about the time to rewrite 500 KiB. All pauses
// together take two seconds, and twice that with the delays of the system's timers.
constexpr long pause_ns = 100'000;
constexpr int most_pauses = 20'000;

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
  if (length == 0) return;  // for fcntl(2), 0 means the rest of the file
  for (int pauses = 0; pauses < most_pauses; ++pauses) {
    struct flock lock = lock_of(offset, length, F_WRLCK);
    held_ = ::fcntl(file, F_OFD_SETLK, &lock) == 0;
    if (held_ || (errno != EAGAIN && errno != EACCES)) return;
    lock = lock_of(offset, length, F_WRLCK);
    if (::fcntl(file, F_OFD_GETLK, &lock) != 0) return;
    if (lock.l_type == F_UNLCK) continue;
    if (lock.l_len == 0 || lock.l_pid == ::getpid()) return;
    if (lock.l_pid == of_an_open_file) {
      lock = lock_of(offset, length, F_WRLCK);
      held_ = ::fcntl(file, F_OFD_SETLKW, &lock) == 0;
      if (held_ || errno != EINTR) return;
    }
    const timespec pause{0, pause_ns};
    ::nanosleep(&pause, nullptr);
  }
}

ExtentLock::~ExtentLock() {
  if (!held_) return;
  struct flock lock = lock_of(offset_, length_, F_UNLCK);
  (void)::fcntl(file_, F_OFD_SETLK, &lock);
}

}  // namespace millrace::io
