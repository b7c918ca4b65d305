// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace millrace::plain {

// The file of a descriptor.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

// The system as this room sees it: the functions behind the hooks, or a test's. Each one returns -1 and
// errno, as in its manual page.
struct Calls {
  ssize_t (*pwrite)(int fd, const void* data, std::size_t bytes, off_t at) = nullptr;
  off_t (*lseek)(int fd, off_t offset, int whence) = nullptr;
  int (*start_writeback)(int fd, off_t begin,
                         off_t bytes) = nullptr;   // sync_file_range(SYNC_FILE_RANGE_WRITE)
  bool (*regular)(int fd) = nullptr;               // a regular file, by fstat
  int (*status_flags)(int fd) = nullptr;           // fcntl(F_GETFL)
  bool (*identify)(int fd, FileId* id) = nullptr;  // false: not open
  bool (*path_of)(int fd, char* path,
                  std::size_t size) = nullptr;          // absolute, ends with a zero; false: it has none
  bool (*open_elsewhere)(int fd, FileId id) = nullptr;  // another descriptor of this process has it open
  char* (*memory)(std::size_t bytes) = nullptr;         // zeroed pages; nullptr: none left
  void (*install)() = nullptr;                          // what is to happen around fork and at exit; once
  bool (*size_limited)() = nullptr;                     // true if RLIMIT_FSIZE is set
};

}  // namespace millrace::plain
