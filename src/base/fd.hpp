// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/result.hpp"

namespace millrace {

// Owns one file descriptor and closes it. Moves, never copies. Not thread safe.
//
// The destructor and reset() drop the error of close(2). A file system may report there that it has lost
// bytes of earlier writes. So a descriptor with writes that count is closed by close().
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
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
    fd_ = fd;
  }
  // Closes the descriptor and tells the error of close(2). EINTR is none: Linux has closed the descriptor.
  Status close() {
    const int fd = release();
    return fd < 0 || ::close(fd) == 0 || errno == EINTR ? Status() : Status::from_errno(errno);
  }

 private:
  int fd_ = -1;
};

}  // namespace millrace
