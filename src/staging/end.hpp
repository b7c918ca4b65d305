// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace::staging {

// The host's end of a transfer. Each function makes one system call and returns its outcome unchanged. Not
// thread safe.
class End {
 public:
  virtual ~End() = default;

  // Returns the bytes moved, which may be fewer than requested, or -errno.
  virtual ssize_t write(std::span<const std::byte> from) = 0;
  virtual ssize_t read(std::span<std::byte> into) = 0;  // 0: end of file
  // False if read() would block now.
  virtual bool ready() = 0;
  // Moves the position back by `bytes`, if possible, because the last bytes of read() did not reach the
  // device.
  virtual void unread(std::uint64_t bytes) = 0;
};

// The system calls for a descriptor. A preload uses libc's real functions here, and tests use faulty ones.
struct EndCalls {
  ssize_t (*read)(int, void*, std::size_t);
  ssize_t (*write)(int, const void*, std::size_t);
  ssize_t (*pread)(int, void*, std::size_t, off_t);
  ssize_t (*pwrite)(int, const void*, std::size_t, off_t);
  off_t (*lseek)(int, off_t, int);
  int (*poll)(pollfd*, nfds_t, int);
};
extern const EndCalls libc_calls;

// The end of a descriptor that the caller owns. Reads and writes at the descriptor's own position (also for
// pipes and sockets), or from an offset on.
class FileEnd final : public End {
 public:
  explicit FileEnd(int fd, const EndCalls& calls = libc_calls) : calls_(calls), fd_(fd) {}
  FileEnd(int fd, std::uint64_t offset, const EndCalls& calls = libc_calls)
      : calls_(calls), fd_(fd), positioned_(true), offset_(offset) {}

  ssize_t write(std::span<const std::byte> from) override;
  ssize_t read(std::span<std::byte> into) override;
  bool ready() override;
  void unread(std::uint64_t bytes) override;

 private:
  const EndCalls& calls_;
  int fd_;
  bool positioned_ = false;
  std::uint64_t offset_ = 0;
};

}  // namespace millrace::staging
