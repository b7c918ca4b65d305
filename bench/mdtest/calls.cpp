// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "mdtest/calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/pattern.hpp"

namespace bench::mdtest {

Calls::Calls(const Settings& s, int directory)
    : s_(s), directory_(directory), buffer_(std::max(s.write_bytes, s.read_bytes)) {}

void Calls::problem(const std::string& what, const char* path, bool use_errno) {
  const int code = errno;
  if (++errors_ > 3) return;  // one reason is mostly that of all
  std::fprintf(stderr, "mdtest: %s %s%s%s\n", what.c_str(), path, use_errno ? ": " : "",
               use_errno ? std::strerror(code) : "");
}

void Calls::make_directory(const char* path) {
  if (::mkdirat(directory_, path, 0775) != 0) problem("cannot make directory", path, true);
}

void Calls::remove_directory(const char* path) {
  if (::unlinkat(directory_, path, AT_REMOVEDIR) != 0) problem("cannot remove directory", path, true);
}

void Calls::rename_directory(const char* from, const char* to) {
  if (::renameat(directory_, from, directory_, to) != 0) problem("cannot rename directory", from, true);
}

bool Calls::write_all(int fd) {
  for (std::size_t at = 0; at < s_.write_bytes;) {
    const ssize_t done = ::write(fd, buffer_.data() + at, s_.write_bytes - at);
    if (done < 0 && errno != EINTR) return false;
    if (done > 0) at += static_cast<std::size_t>(done);
  }
  return !s_.fsync || ::fsync(fd) == 0;
}

void Calls::make_file(const char* path, std::uint64_t seed) {
  const int fd = ::openat(directory_, path, O_CREAT | O_RDWR, 0664);
  if (fd < 0) return problem("cannot create", path, true);
  if (s_.write_bytes > 0) {
    fill(buffer_.data(), s_.write_bytes, 0, seed);
    if (!write_all(fd)) problem("cannot write", path, true);
  }
  if (::close(fd) != 0) problem("cannot close", path, true);
}

void Calls::touch_file(const char* path) {
  const int fd = ::openat(directory_, path, O_CREAT | O_RDWR, 0664);
  if (fd < 0 || ::close(fd) != 0) problem("cannot create", path, true);
}

void Calls::read_file(const char* path, std::uint64_t seed) {
  const int fd = ::openat(directory_, path, O_RDONLY);
  if (fd < 0) return problem("cannot open", path, true);
  std::size_t at = 0;
  while (at < s_.read_bytes) {
    const ssize_t done = ::read(fd, buffer_.data() + at, s_.read_bytes - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) break;
    at += static_cast<std::size_t>(done);
  }
  if (at < s_.read_bytes) {
    problem("cannot read all of", path, false);
  } else if (s_.verify_read && mismatch(buffer_.data(), s_.read_bytes, 0, seed) != no_mismatch) {
    problem("wrong bytes in", path, false);
  }
  ::close(fd);
}

void Calls::remove_file(const char* path) {
  if (::unlinkat(directory_, path, 0) != 0) problem("cannot remove", path, true);
}

void Calls::stat(const char* path, bool file) {
  struct stat info {};
  if (::fstatat(directory_, path, &info, 0) != 0) return problem("cannot stat", path, true);
  if (file ? !S_ISREG(info.st_mode) : !S_ISDIR(info.st_mode)) {
    return problem(file ? "not a file:" : "not a directory:", path, false);
  }
  // An earlier run may have written other sizes.
  if (file && s_.create && static_cast<std::uint64_t>(info.st_size) != s_.write_bytes) {
    problem("not of the size that was written:", path, false);
  }
}

}  // namespace bench::mdtest
