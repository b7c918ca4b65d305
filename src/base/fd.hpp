// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/result.hpp"

namespace millrace {

// A program may run with closed descriptors 0 to 2. What it then opens or prints must not meet a descriptor
// of Millrace there.
inline int above_standard(int fd) {
  constexpr int least = STDERR_FILENO + 1;
  if (fd < 0 || fd >= least) return fd;
  const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, least);
  if (above < 0) return fd;
  ::close(fd);
  return above;
}

// Owns one file descriptor and closes it. Moves, never copies. The descriptor is never one of 0 to 2, unless
// it is the program's. Not thread safe.
//
// The destructor and reset() drop the error of close(2). A file system may report there that it has lost
// bytes of earlier writes. So a descriptor with writes that count is closed by close().
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(above_standard(fd)) {}
  // A descriptor that the program knows by its number.
  static Fd of_program(int fd) {
    Fd own;
    own.fd_ = fd;
    return own;
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this == &other) return *this;
    reset();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = above_standard(fd);
  }
  // Closes the descriptor and tells the error of close(2). EINTR is none: Linux has closed the descriptor.
  Status close() {
    const int fd = release();
    return fd < 0 || ::close(fd) == 0 || errno == EINTR ? Status() : Status::from_errno(errno);
  }

 private:
  int fd_ = -1;
};

// Keeps the place of a descriptor that may be needed later. Not valid: there is no place.
inline Fd spare_descriptor() { return Fd(::open("/dev/null", O_PATH | O_CLOEXEC)); }

}  // namespace millrace
