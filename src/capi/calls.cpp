// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capi/library.hpp"
#include "plain/engine.hpp"

namespace millrace::capi {

namespace {

constexpr plain::Calls system_calls{
    .pwrite = ::pwrite,
    .lseek = ::lseek,
    .start_writeback =
        [](int fd, off_t begin, off_t bytes) {
          return ::sync_file_range(fd, begin, bytes, static_cast<unsigned>(SYNC_FILE_RANGE_WRITE));
        },
    .regular =
        [](int fd) {
          struct stat about {};
          return ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
        },
    .status_flags = [](int fd) { return ::fcntl(fd, F_GETFL); },
    .size_limited =
        [] {
          rlimit limit{};
          return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
        },
};

constinit plain::Engine engine(system_calls);

ssize_t write_some(int fd, const void* data, std::size_t bytes) {
  const auto real = [=] { return ::write(fd, data, bytes); };
  return engine.notices(bytes) ? engine.write(fd, data, bytes, real) : real();
}

ssize_t write_some_at(int fd, const void* data, std::size_t bytes, off_t at) {
  const auto real = [=] { return ::pwrite(fd, data, bytes, at); };
  return engine.notices(bytes) ? engine.write_at(fd, data, bytes, at, real) : real();
}

}  // namespace

const staging::EndCalls calls{::read, write_some, ::pread, write_some_at, ::lseek, ::poll};

void synced(int fd) { engine.synced(fd); }

}  // namespace millrace::capi
