// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/end.hpp"

#include <unistd.h>

#include <cerrno>

namespace millrace::staging {

const EndCalls libc_calls{::read, ::write, ::pread, ::pwrite, ::lseek, ::poll};

namespace {

ssize_t outcome(ssize_t result) { return result < 0 ? -errno : result; }

}  // namespace

ssize_t FileEnd::write(std::span<const std::byte> from) {
  if (!positioned_) return outcome(calls_.write(fd_, from.data(), from.size()));
  const ssize_t done = outcome(calls_.pwrite(fd_, from.data(), from.size(), static_cast<off_t>(offset_)));
  if (done > 0) offset_ += static_cast<std::uint64_t>(done);
  return done;
}

ssize_t FileEnd::read(std::span<std::byte> into) {
  if (!positioned_) return outcome(calls_.read(fd_, into.data(), into.size()));
  const ssize_t done = outcome(calls_.pread(fd_, into.data(), into.size(), static_cast<off_t>(offset_)));
  if (done > 0) offset_ += static_cast<std::uint64_t>(done);
  return done;
}

bool FileEnd::ready() {
  if (positioned_) return true;  // pipes have no positions
  pollfd one{fd_, POLLIN, 0};
  return calls_.poll(&one, 1, 0) > 0;
}

void FileEnd::unread(std::uint64_t bytes) {
  if (positioned_) {
    offset_ -= bytes;
  } else if (bytes > 0) {
    calls_.lseek(fd_, -static_cast<off_t>(bytes), SEEK_CUR);  // fails on pipes, where the bytes are lost
  }
}

}  // namespace millrace::staging
