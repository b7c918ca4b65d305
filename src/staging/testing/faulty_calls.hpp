// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "staging/end.hpp"

// libc's calls, but the n-th transfer of this thread fails or is short, as the test wants.
namespace millrace::staging::testing {

struct Fault {
  std::uint64_t at = 0;      // from 1; 0: none
  int error = 0;             // not 0: the transfer fails with this errno
  std::size_t short_by = 0;  // else the transfer moves this many bytes fewer
  std::uint64_t calls = 0;   // made so far
};

inline thread_local Fault fault;

template <class Move>
ssize_t faulty(std::size_t bytes, const Move& move) {
  if (++fault.calls != fault.at) return move(bytes);
  if (fault.error == 0) return move(bytes - std::min(bytes, fault.short_by));
  errno = fault.error;
  return -1;
}

inline const EndCalls faulty_calls{
    [](int fd, void* into, std::size_t bytes) {
      return faulty(bytes, [&](std::size_t some) { return ::read(fd, into, some); });
    },
    [](int fd, const void* from, std::size_t bytes) {
      return faulty(bytes, [&](std::size_t some) { return ::write(fd, from, some); });
    },
    [](int fd, void* into, std::size_t bytes, off_t offset) {
      return faulty(bytes, [&](std::size_t some) { return ::pread(fd, into, some, offset); });
    },
    [](int fd, const void* from, std::size_t bytes, off_t offset) {
      return faulty(bytes, [&](std::size_t some) { return ::pwrite(fd, from, some, offset); });
    },
    ::lseek,
    ::poll,
};

}  // namespace millrace::staging::testing
