// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Writes and syncs of descriptors. Reads of the program's own memory are as fast as they can be (ADR 11).
#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

using millrace::front::engine;
using millrace::front::Entrance;
namespace real = millrace::front::real;

namespace {

template <class Real>
ssize_t put(int fd, const void* data, size_t bytes, Real real) {
  if (!engine().notices(bytes)) return real();
  const Entrance entrance;
  return entrance ? engine().write(fd, data, bytes, real) : real();
}

template <class Real>
ssize_t put_at(int fd, const void* data, size_t bytes, off_t at, Real real) {
  if (!engine().notices(bytes)) return real();
  const Entrance entrance;
  return entrance ? engine().write_at(fd, data, bytes, at, real) : real();
}

template <class Real>
ssize_t put_vector(int fd, off_t at, Real real) {
  const ssize_t written = real();
  if (written <= 0 || !engine().notices(static_cast<size_t>(written))) return written;
  const Entrance entrance;
  if (entrance) engine().wrote(fd, at, static_cast<size_t>(written));
  return written;
}

template <class Real>
int synced(int fd, Real real) {
  const int result = real();
  const Entrance entrance;
  if (entrance) engine().synced(fd);
  return result;
}

}  // namespace

MILLRACE_HOOK ssize_t write(int fd, const void* data, size_t bytes) {
  return put(fd, data, bytes, [=] { return real::write(fd, data, bytes); });
}

MILLRACE_HOOK ssize_t __write(int fd, const void* data, size_t bytes) {
  return put(fd, data, bytes, [=] { return real::__write(fd, data, bytes); });
}

MILLRACE_HOOK ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) {
  return put_at(fd, data, bytes, at, [=] { return real::pwrite(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t at) {
  return put_at(fd, data, bytes, at, [=] { return real::pwrite64(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t __pwrite64(int fd, const void* data, size_t bytes, off64_t at) {
  return put_at(fd, data, bytes, at, [=] { return real::__pwrite64(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t writev(int fd, const iovec* pieces, int count) {
  return put_vector(fd, -1, [=] { return real::writev(fd, pieces, count); });
}

MILLRACE_HOOK ssize_t pwritev(int fd, const iovec* pieces, int count, off_t at) {
  return put_vector(fd, at, [=] { return real::pwritev(fd, pieces, count, at); });
}

MILLRACE_HOOK ssize_t pwritev64(int fd, const iovec* pieces, int count, off64_t at) {
  return put_vector(fd, at, [=] { return real::pwritev64(fd, pieces, count, at); });
}

MILLRACE_HOOK ssize_t pwritev2(int fd, const iovec* pieces, int count, off_t at, int flags) {
  return put_vector(fd, at, [=] { return real::pwritev2(fd, pieces, count, at, flags); });
}

MILLRACE_HOOK ssize_t pwritev64v2(int fd, const iovec* pieces, int count, off64_t at, int flags) {
  return put_vector(fd, at, [=] { return real::pwritev64v2(fd, pieces, count, at, flags); });
}

MILLRACE_HOOK int fsync(int fd) {
  return synced(fd, [=] { return real::fsync(fd); });
}

MILLRACE_HOOK int fdatasync(int fd) {
  return synced(fd, [=] { return real::fdatasync(fd); });
}
