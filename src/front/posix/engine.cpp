// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>

#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

namespace millrace::front {
namespace {

bool regular(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

bool size_limited() {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

constexpr plain::Calls calls{
    [](int fd, const void* data, std::size_t bytes, off_t at) { return real::pwrite(fd, data, bytes, at); },
    [](int fd, off_t offset, int whence) { return ::lseek(fd, offset, whence); },
    [](int fd, off_t begin, off_t bytes) {
      return ::sync_file_range(fd, begin, bytes, SYNC_FILE_RANGE_WRITE);
    },
    regular,
    [](int fd) { return ::fcntl(fd, F_GETFL); },
    size_limited,
};

constinit plain::Engine the_engine(calls);

}  // namespace

constinit thread_local bool Entrance::busy = false;

plain::Engine& engine() { return the_engine; }

}  // namespace millrace::front
