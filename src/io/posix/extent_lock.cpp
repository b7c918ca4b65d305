// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "io/posix/extent_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <mutex>

#include "base/library_call.hpp"

namespace millrace::io {

namespace {

constexpr pid_t of_an_open_file = -1;  // F_OFD_GETLK returns this for a lock of an open file description
// Behind the end of every file. Locks reach up to 2^63.
constexpr std::uint64_t behind_files = std::uint64_t{1} << 62;
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

// Another lock of a part of [offset, offset + length), with l_type F_UNLCK if there is none any more.
bool find_other(int file, std::uint64_t offset, std::uint64_t length, struct flock& other) {
  other = lock_of(offset, length, F_WRLCK);
  return ::fcntl(file, F_OFD_GETLK, &other) == 0;
}

// The last lock of another process that has lasted longer than a library's would. Thread safe.
class Lasting {
 public:
  bool is(const struct flock& other) {
    const std::lock_guard guard(mutex_);
    return lock_.l_pid == other.l_pid && lock_.l_start == other.l_start && lock_.l_len == other.l_len;
  }
  void remember(const struct flock& other) {
    const std::lock_guard guard(mutex_);
    lock_ = other;
  }

 private:
  std::mutex mutex_;
  struct flock lock_ = {};
};

Lasting& lasting() {
  static Lasting& one = *new Lasting;  // exit handlers may write, too
  return one;
}

}  // namespace

ExtentLock::ExtentLock(int file, std::uint64_t offset, std::uint64_t length, Hold hold)
    : file_(file), offset_(offset), length_(length) {
  if (length == 0 || offset >= behind_files || length > behind_files - offset) return;
  if (hold == Hold::brief && take(offset, length)) {
    complete_ = true;
    return;
  }
  complete_ = exclude_others();
  take_parts();
}

bool ExtentLock::take(std::uint64_t offset, std::uint64_t length) {
  struct flock lock = lock_of(offset, length, F_WRLCK);
  if (::fcntl(file_, F_OFD_SETLK, &lock) != 0) return false;
  return held_ = true;
}

// False: the program has locked the rest of the file, or there are no locks.
bool ExtentLock::exclude_others() {
  const std::uint64_t offset = behind_files + offset_;
  for (;;) {
    struct flock lock = lock_of(offset, length_, F_WRLCK);
    excludes_ = ::fcntl(file_, F_OFD_SETLK, &lock) == 0;
    if (excludes_) return true;
    if ((errno != EAGAIN && errno != EACCES) || !find_other(file_, offset, length_, lock)) return false;
    if (lock.l_type == F_UNLCK) continue;
    if (lock.l_pid != of_an_open_file || static_cast<std::uint64_t>(lock.l_start) < behind_files)
      return false;
    lock = lock_of(offset, length_, F_WRLCK);
    excludes_ = ::fcntl(file_, F_OFD_SETLKW, &lock) == 0;
    if (excludes_) return true;
    if (errno != EINTR) return false;
  }
}

// Locks what no program has locked.
void ExtentLock::take_parts() {
  const std::uint64_t end = offset_ + length_;
  int pauses = 0;
  std::uint64_t stop = end;
  for (std::uint64_t begin = offset_; begin < end;) {
    if (take(begin, stop - begin)) {
      begin = stop;
      stop = end;
      continue;
    }
    struct flock other;
    if ((errno != EAGAIN && errno != EACCES) || !find_other(file_, begin, stop - begin, other)) {
      complete_ = false;
      return;
    }
    if (other.l_type == F_UNLCK) continue;
    const bool own = other.l_pid == ::getpid() && !LibraryCall::any();
    const bool lasts = other.l_pid == of_an_open_file || own || other.l_len == 0 || lasting().is(other);
    if (!lasts && pauses < most_pauses) {
      const timespec pause{0, pause_ns};
      ::nanosleep(&pause, nullptr);
      ++pauses;
      continue;
    }
    if (!lasts) lasting().remember(other);
    complete_ = false;
    const std::uint64_t taken = static_cast<std::uint64_t>(other.l_start);
    if (taken > begin) {
      stop = taken;  // the part before the other lock
    } else {
      begin = other.l_len == 0 ? end : taken + static_cast<std::uint64_t>(other.l_len);
      stop = end;
    }
  }
}

ExtentLock::~ExtentLock() {
  struct flock lock = lock_of(offset_, length_, F_UNLCK);
  if (held_) (void)::fcntl(file_, F_OFD_SETLK, &lock);
  lock = lock_of(behind_files + offset_, length_, F_UNLCK);
  if (excludes_) (void)::fcntl(file_, F_OFD_SETLK, &lock);
}

}  // namespace millrace::io
