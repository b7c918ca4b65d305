// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace millrace::staging {

// The host's end of a transfer: one system call at a time, and its outcome as it is. Not thread safe.
class End {
 public:
  virtual ~End() = default;

  // Returns the bytes moved, fewer than requested if the call moved fewer; or -errno.
  virtual ssize_t write(std::span<const std::byte> from) = 0;
  virtual ssize_t read(std::span<std::byte> into) = 0;  // 0: end of file
  // False: read() would block now.
  virtual bool ready() = 0;
  // The last `bytes` of read() did not reach the device: moves back to before them, if possible.
  virtual void unread(std::uint64_t bytes) = 0;
};

// The calls behind a descriptor. A preload puts the real functions here, tests put faulty ones.
struct Calls {
  ssize_t (*read)(int, void*, std::size_t);
  ssize_t (*write)(int, const void*, std::size_t);
  ssize_t (*pread)(int, void*, std::size_t, off_t);
  ssize_t (*pwrite)(int, const void*, std::size_t, off_t);
  off_t (*lseek)(int, off_t, int);
  int (*poll)(pollfd*, nfds_t, int);
};
extern const Calls libc_calls;

// A descriptor, which stays the caller's: at its own position (pipes and sockets too), or from an offset on.
class FileEnd final : public End {
 public:
  explicit FileEnd(int fd, const Calls& calls = libc_calls) : calls_(calls), fd_(fd) {}
  FileEnd(int fd, std::uint64_t offset, const Calls& calls = libc_calls)
      : calls_(calls), fd_(fd), positioned_(true), offset_(offset) {}

  ssize_t write(std::span<const std::byte> from) override;
  ssize_t read(std::span<std::byte> into) override;
  bool ready() override;
  void unread(std::uint64_t bytes) override;

 private:
  const Calls& calls_;
  int fd_;
  bool positioned_ = false;
  std::uint64_t offset_ = 0;
};

}  // namespace millrace::staging
