// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace millrace::plain {

// The system as this room sees it: the functions behind the hooks, or a test's own. Each is as in its manual
// page: -1 and errno.
struct Calls {
  ssize_t (*pwrite)(int fd, const void* data, std::size_t bytes, off_t at);
  off_t (*lseek)(int fd, off_t offset, int whence);
  int (*start_writeback)(int fd, off_t begin, off_t bytes);  // sync_file_range(SYNC_FILE_RANGE_WRITE)
  bool (*regular)(int fd);                                   // a regular file, by fstat
  int (*status_flags)(int fd);                               // fcntl(F_GETFL)
  bool (*size_limited)();                                    // true if RLIMIT_FSIZE is set
};

}  // namespace millrace::plain
