// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/large.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>

namespace millrace::plain {
namespace {

// Small system calls, because the kernel makes a folio as large as the call, and large folios are slow on
// some machines (ADR 4).
constexpr std::size_t piece_bytes = 64 << 10;

}  // namespace

bool divisible(const Calls& calls, int fd) {
  const int flags = calls.status_flags(fd);
  if (flags < 0 || (flags & (O_APPEND | O_DIRECT | O_SYNC | O_DSYNC)) != 0) return false;
  return (flags & O_ACCMODE) != O_RDONLY && calls.regular(fd) && !calls.size_limited();
}

namespace {

// Returns the number of bytes written. The number is smaller after an error, with errno set.
std::size_t write_pieces(const Calls& calls, EarlyWriteback& early, int fd, const char* data,
                         std::size_t bytes, off_t at) {
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t piece = std::min(piece_bytes, bytes - done);
    const off_t place = at + static_cast<off_t>(done);
    const ssize_t n = calls.pwrite(fd, data + done, piece, place);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
    early.wrote(calls, fd, place, static_cast<std::size_t>(n));
    if (static_cast<std::size_t>(n) < piece)
      break;  // a full disk or a signal: the program's next call sees the reason
  }
  return done;
}

}  // namespace

std::optional<ssize_t> write_large_at(const Calls& calls, EarlyWriteback& early, int fd, const void* data,
                                      std::size_t bytes, off_t at) {
  bytes = std::min(bytes, request_bytes_max);
  if (at < 0 || at > std::numeric_limits<off_t>::max() - static_cast<off_t>(bytes)) return std::nullopt;
  const int error = errno;
  if (!divisible(calls, fd)) {
    errno = error;
    return std::nullopt;
  }
  const std::size_t done = write_pieces(calls, early, fd, static_cast<const char*>(data), bytes, at);
  if (done == 0) return -1;
  errno = error;
  return static_cast<ssize_t>(done);
}

std::optional<ssize_t> write_large(const Calls& calls, EarlyWriteback& early, int fd, const void* data,
                                   std::size_t bytes) {
  bytes = std::min(bytes, request_bytes_max);
  const int error = errno;
  const off_t end = divisible(calls, fd) ? calls.lseek(fd, static_cast<off_t>(bytes), SEEK_CUR) : -1;
  if (end < 0) {
    errno = error;
    return std::nullopt;
  }
  const off_t begin = end - static_cast<off_t>(bytes);
  const std::size_t done = write_pieces(calls, early, fd, static_cast<const char*>(data), bytes, begin);
  const int reason = errno;
  if (done < bytes) (void)calls.lseek(fd, static_cast<off_t>(done) - static_cast<off_t>(bytes), SEEK_CUR);
  errno = done == 0 ? reason : error;
  return done == 0 ? -1 : static_cast<ssize_t>(done);
}

}  // namespace millrace::plain
