// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>

namespace millrace::plain {

// The most bytes that one system call of Linux writes.
inline constexpr std::size_t request_bytes_max = 0x7ffff000;

// The file of a descriptor.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

// The system calls of this room: the functions behind the hooks, or a test's. Each function fails as its
// manual page says, with -1 and errno.
struct Calls {
  ssize_t (*pwrite)(int fd, const void* data, std::size_t bytes, off_t at) = nullptr;
  off_t (*lseek)(int fd, off_t offset, int whence) = nullptr;
  int (*start_writeback)(int fd, off_t begin,
                         off_t bytes) = nullptr;   // sync_file_range(SYNC_FILE_RANGE_WRITE)
  bool (*regular)(int fd) = nullptr;               // a regular file, by fstat
  int (*status_flags)(int fd) = nullptr;           // fcntl(F_GETFL)
  bool (*identify)(int fd, FileId* id) = nullptr;  // false: fd is not open
  bool (*path_of)(int fd, char* path,
                  std::size_t size) = nullptr;  // the absolute path; false: fd has none
  bool (*open_elsewhere)(int fd,
                         FileId id) = nullptr;   // true: another descriptor of this process has the file open
  char* (*memory)(std::size_t bytes) = nullptr;  // zeroed pages; nullptr: none left
  void (*install)() = nullptr;                   // installs the handlers for fork and exit; called once
  bool (*size_limited)() = nullptr;              // true if RLIMIT_FSIZE is set
  void (*append_report)(char* line, std::size_t bytes) = nullptr;  // to MILLRACE_STATS, with a newline

  // For copies.
  int (*about)(int fd, struct stat* about) = nullptr;  // fstat
  int (*about_now)(int fd,
                   struct stat* about) = nullptr;  // the same, and a network file system asks its server
  int (*open_again)(int fd, int flags) = nullptr;  // for reading, close-on-exec, with an offset of its own
  int (*replace)(int fd, int by) = nullptr;  // fd then means the file of `by`; fd's close-on-exec flag stays
  int (*close)(int fd) = nullptr;
};

}  // namespace millrace::plain
