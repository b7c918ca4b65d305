// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Hooks of reads and writes with descriptors. Reads into host memory are already as fast as possible (ADR
// 11). Memory that the system cannot access may be a device's (device.hpp).
#include <cerrno>

#include "front/posix/device.hpp"
#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

namespace device = millrace::front::device;
using millrace::front::ask_for;
using millrace::front::engine;
using millrace::front::OutermostHook;
using millrace::front::ReadOrWrite;
using millrace::front::settle;
using millrace::front::staged_read;
using millrace::front::staged_vector;
using millrace::front::staged_write;
namespace real = millrace::front::real;

namespace {

bool refused(ssize_t result) { return __builtin_expect(result == -1 && errno == EFAULT, 0); }

bool copies(int fd) { return engine().behind().takes(fd); }

// True if a device owns the memory, so that write-behind cannot copy the bytes itself.
bool of_a_device(const void* data, size_t bytes) {
  device::look();
  return static_cast<bool>(device::find(data, bytes));
}

template <class Real>
ssize_t put_host(int fd, const void* data, size_t bytes, Real real) {
  if (copies(fd)) {
    if (const auto taken = engine().write_behind(fd, data, bytes, -1)) return *taken;
  }
  if (!engine().notices(bytes)) return real();
  const OutermostHook entrance;
  return entrance ? engine().write(fd, data, bytes, real) : real();
}

template <class Real>
ssize_t put_host_at(int fd, const void* data, size_t bytes, off_t at, Real real) {
  if (copies(fd) && at >= 0) {
    if (const auto taken = engine().write_behind(fd, data, bytes, at)) return *taken;
  }
  if (!engine().notices(bytes)) return real();
  const OutermostHook entrance;
  return entrance ? engine().write_at(fd, data, bytes, at, real) : real();
}

template <class Real>
ssize_t put(int fd, const void* data, size_t bytes, Real real) {
  ask_for(fd, true);
  if (copies(fd) && of_a_device(data, bytes)) return staged_write(fd, data, bytes, -1);
  const ssize_t done = put_host(fd, data, bytes, real);
  return refused(done) ? staged_write(fd, data, bytes, -1) : done;
}

template <class Real>
ssize_t put_at(int fd, const void* data, size_t bytes, off_t at, Real real) {
  ask_for(fd, true);
  if (copies(fd) && at >= 0 && of_a_device(data, bytes)) return staged_write(fd, data, bytes, at);
  const ssize_t done = put_host_at(fd, data, bytes, at, real);
  return refused(done) ? staged_write(fd, data, bytes, at) : done;
}

bool any_of_a_device(const iovec* pieces, int count) {
  for (int i = 0; i < count; ++i) {
    if (of_a_device(pieces[i].iov_base, pieces[i].iov_len)) return true;
  }
  return false;
}

// True if a call ended between two pieces. It does so if the system cannot access the next piece.
bool ended_between(const iovec* pieces, int count, ssize_t done) {
  size_t end = 0;
  for (int i = 0; i < count && end <= static_cast<size_t>(done); ++i) {
    if (end == static_cast<size_t>(done) && end > 0 && pieces[i].iov_len > 0) return true;
    end += pieces[i].iov_len;
  }
  return false;
}

template <class Real>
ssize_t put_vector(int fd, const iovec* pieces, int count, off_t at, int flags, Real real) {
  ask_for(fd, true);
  if (copies(fd)) {
    if (flags == 0 && any_of_a_device(pieces, count))
      return staged_vector(ReadOrWrite::write, fd, pieces, count, at, 0);
    if (flags == 0) {
      if (const auto taken = engine().write_behind(fd, pieces, count, at)) return *taken;
    }
    settle(fd);
  }
  const ssize_t written = real();
  if (flags == 0 && (refused(written) || (written > 0 && ended_between(pieces, count, written))))
    return staged_vector(ReadOrWrite::write, fd, pieces, count, at, written);
  if (written <= 0 || !engine().notices(static_cast<size_t>(written))) return written;
  const OutermostHook entrance;
  if (entrance) engine().wrote(fd, at, static_cast<size_t>(written));
  return written;
}

template <class Real>
ssize_t got(int fd, void* data, size_t bytes, off_t at, Real real) {
  settle(fd);
  const ssize_t done = real();
  return refused(done) ? staged_read(fd, data, bytes, at) : done;
}

template <class Real>
ssize_t got_vector(int fd, const iovec* pieces, int count, off_t at, int flags, Real real) {
  settle(fd);
  const ssize_t done = real();
  if (flags == 0 && (refused(done) || (done > 0 && ended_between(pieces, count, done))))
    return staged_vector(ReadOrWrite::read, fd, pieces, count, at, done);
  return done;
}

template <class Real>
int synced(int fd, Real real) {
  const int late = engine().behind().settle_to_tell(fd);
  const int result = real();
  const OutermostHook entrance;
  if (entrance) engine().synced(fd);
  if (result != 0 || late == 0) return result;
  errno = late;
  return -1;
}

}  // namespace

ssize_t millrace::front::write_host(int fd, const void* data, size_t bytes, off_t at) {
  if (at < 0) return put_host(fd, data, bytes, [=] { return real::write(fd, data, bytes); });
  return put_host_at(fd, data, bytes, at, [=] { return real::pwrite(fd, data, bytes, at); });
}

ssize_t millrace::front::read_host(int fd, void* data, size_t bytes, off_t at) {
  settle(fd);
  return at < 0 ? real::read(fd, data, bytes) : real::pread(fd, data, bytes, at);
}

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
  return got(fd, data, bytes, -1, [=] { return real::read(fd, data, bytes); });
}

MILLRACE_HOOK ssize_t __read(int fd, void* data, size_t bytes) {
  return got(fd, data, bytes, -1, [=] { return real::__read(fd, data, bytes); });
}

MILLRACE_HOOK ssize_t __read_chk(int fd, void* data, size_t bytes, size_t room) {
  return got(fd, data, bytes, -1, [=] { return real::__read_chk(fd, data, bytes, room); });
}

MILLRACE_HOOK ssize_t pread(int fd, void* data, size_t bytes, off_t at) {
  return got(fd, data, bytes, at, [=] { return real::pread(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t pread64(int fd, void* data, size_t bytes, off64_t at) {
  return got(fd, data, bytes, at, [=] { return real::pread64(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t __pread64(int fd, void* data, size_t bytes, off64_t at) {
  return got(fd, data, bytes, at, [=] { return real::__pread64(fd, data, bytes, at); });
}

MILLRACE_HOOK ssize_t __pread_chk(int fd, void* data, size_t bytes, off_t at, size_t room) {
  return got(fd, data, bytes, at, [=] { return real::__pread_chk(fd, data, bytes, at, room); });
}

MILLRACE_HOOK ssize_t __pread64_chk(int fd, void* data, size_t bytes, off64_t at, size_t room) {
  return got(fd, data, bytes, at, [=] { return real::__pread64_chk(fd, data, bytes, at, room); });
}

MILLRACE_HOOK ssize_t readv(int fd, const iovec* pieces, int count) {
  return got_vector(fd, pieces, count, -1, 0, [=] { return real::readv(fd, pieces, count); });
}

MILLRACE_HOOK ssize_t preadv(int fd, const iovec* pieces, int count, off_t at) {
  return got_vector(fd, pieces, count, at, at < 0, [=] { return real::preadv(fd, pieces, count, at); });
}

MILLRACE_HOOK ssize_t preadv64(int fd, const iovec* pieces, int count, off64_t at) {
  return got_vector(fd, pieces, count, at, at < 0, [=] { return real::preadv64(fd, pieces, count, at); });
}

MILLRACE_HOOK ssize_t preadv2(int fd, const iovec* pieces, int count, off_t at, int flags) {
  return got_vector(fd, pieces, count, at, flags,
                    [=] { return real::preadv2(fd, pieces, count, at, flags); });
}

MILLRACE_HOOK ssize_t preadv64v2(int fd, const iovec* pieces, int count, off64_t at, int flags) {
  return got_vector(fd, pieces, count, at, flags,
                    [=] { return real::preadv64v2(fd, pieces, count, at, flags); });
}
