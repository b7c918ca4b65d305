// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Transfers of descriptors. Reads of the program's own memory are as fast as they can be (ADR 11).
#include <cerrno>

#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

using millrace::front::engine;
using millrace::front::Entrance;
using millrace::front::settle;
namespace real = millrace::front::real;

namespace {

template <class Real>
ssize_t put(int fd, const void* data, size_t bytes, Real real) {
  if (engine().behind().takes(fd)) {
    if (const auto taken = engine().write_behind(fd, data, bytes, -1)) return *taken;
  }
  if (!engine().notices(bytes)) return real();
  const Entrance entrance;
  return entrance ? engine().write(fd, data, bytes, real) : real();
}

template <class Real>
ssize_t put_at(int fd, const void* data, size_t bytes, off_t at, Real real) {
  if (engine().behind().takes(fd) && at >= 0) {
    if (const auto taken = engine().write_behind(fd, data, bytes, at)) return *taken;
  }
  if (!engine().notices(bytes)) return real();
  const Entrance entrance;
  return entrance ? engine().write_at(fd, data, bytes, at, real) : real();
}

template <class Real>
ssize_t put_vector(int fd, const iovec* pieces, int count, off_t at, int flags, Real real) {
  if (engine().behind().takes(fd)) {
    if (flags == 0) {
      if (const auto taken = engine().behind().write(fd, pieces, count, at)) return *taken;
    }
    settle(fd);
  }
  const ssize_t written = real();
  if (written <= 0 || !engine().notices(static_cast<size_t>(written))) return written;
  const Entrance entrance;
  if (entrance) engine().wrote(fd, at, static_cast<size_t>(written));
  return written;
}

template <class Real>
ssize_t got(int fd, Real real) {
  settle(fd);
  return real();
}

template <class Real>
int synced(int fd, Real real) {
  const int late = engine().behind().settle_to_tell(fd);
  const int result = real();
  const Entrance entrance;
  if (entrance) engine().synced(fd);
  if (result != 0 || late == 0) return result;
  errno = late;
  return -1;
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
  return put_vector(fd, pieces, count, -1, 0, [=] { return real::writev(fd, pieces, count); });
}

MILLRACE_HOOK ssize_t pwritev(int fd, const iovec* pieces, int count, off_t at) {
  return put_vector(fd, pieces, count, at, at < 0, [=] { return real::pwritev(fd, pieces, count, at); });
}

MILLRACE_HOOK ssize_t pwritev64(int fd, const iovec* pieces, int count, off64_t at) {
  return put_vector(fd, pieces, count, at, at < 0, [=] { return real::pwritev64(fd, pieces, count, at); });
}

MILLRACE_HOOK ssize_t pwritev2(int fd, const iovec* pieces, int count, off_t at, int flags) {
  return put_vector(fd, pieces, count, at, flags,
                    [=] { return real::pwritev2(fd, pieces, count, at, flags); });
}

MILLRACE_HOOK ssize_t pwritev64v2(int fd, const iovec* pieces, int count, off64_t at, int flags) {
  return put_vector(fd, pieces, count, at, flags,
                    [=] { return real::pwritev64v2(fd, pieces, count, at, flags); });
}

MILLRACE_HOOK int fsync(int fd) {
  return synced(fd, [=] { return real::fsync(fd); });
}

MILLRACE_HOOK int fdatasync(int fd) {
  return synced(fd, [=] { return real::fdatasync(fd); });
}

MILLRACE_HOOK ssize_t read(int fd, void* data, size_t bytes) {
  return got(fd, [=] { return real::read(fd, data, bytes); });
}

MILLRACE_HOOK ssize_t __read(int fd, void* data, size_t bytes) {
  return got(fd, [=] { return real::__read(fd, data, bytes); });
}

MILLRACE_HOOK ssize_t __read_chk(int fd, void* data, size_t bytes, size_t room) {
  return got(fd, [=] { return real::__read_chk(fd, data, bytes, room); });
}

MILLRACE_HOOK ssize_t pread(int fd, void* data, size_t bytes, off_t at) {
  return got(fd, [=] { return real::pread(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t pread64(int fd, void* data, size_t bytes, off64_t at) {
  return got(fd, [=] { return real::pread64(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t __pread64(int fd, void* data, size_t bytes, off64_t at) {
  return got(fd, [=] { return real::__pread64(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t __pread_chk(int fd, void* data, size_t bytes, off_t at, size_t room) {
  return got(fd, [=] { return real::__pread_chk(fd, data, bytes, at, room); });
}

MILLRACE_HOOK ssize_t __pread64_chk(int fd, void* data, size_t bytes, off64_t at, size_t room) {
  return got(fd, [=] { return real::__pread64_chk(fd, data, bytes, at, room); });
}

MILLRACE_HOOK ssize_t readv(int fd, const iovec* pieces, int count) {
  return got(fd, [=] { return real::readv(fd, pieces, count); });
}

MILLRACE_HOOK ssize_t preadv(int fd, const iovec* pieces, int count, off_t at) {
  return got(fd, [=] { return real::preadv(fd, pieces, count, at); });
}

MILLRACE_HOOK ssize_t preadv64(int fd, const iovec* pieces, int count, off64_t at) {
  return got(fd, [=] { return real::preadv64(fd, pieces, count, at); });
}

MILLRACE_HOOK ssize_t preadv2(int fd, const iovec* pieces, int count, off_t at, int flags) {
  return got(fd, [=] { return real::preadv2(fd, pieces, count, at, flags); });
}

MILLRACE_HOOK ssize_t preadv64v2(int fd, const iovec* pieces, int count, off64_t at, int flags) {
  return got(fd, [=] { return real::preadv64v2(fd, pieces, count, at, flags); });
}
