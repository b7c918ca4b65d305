// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// A disk with faults, preloaded after Millrace: writes to a regular file below FAULT_AT bytes succeed, a
// write across that offset is short, and a write beyond it fails with FAULT_ERRNO. With FAULT_SHORT=1 every
// write is
// short, and every third one is interrupted first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned calls;

static ssize_t faulty(int fd, const void* data, size_t bytes, off_t at, int positional) {
  static ssize_t (*put)(int, const void*, size_t);
  static ssize_t (*put_at)(int, const void*, size_t, off_t);
  if (put == NULL) put = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  if (put_at == NULL) put_at = (ssize_t(*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
  struct stat about;
  const char* limit = getenv("FAULT_AT");
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && bytes > 0) {
    off_t from = positional ? at : lseek(fd, 0, SEEK_CUR);
    if (getenv("FAULT_SHORT") != NULL) {
      if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 3 == 0) {
        errno = EINTR;
        return -1;
      }
      bytes = bytes / 2 + 1;
    }
    if (limit != NULL && from >= atol(limit)) {
      errno = atoi(getenv("FAULT_ERRNO"));
      return -1;
    }
    if (limit != NULL && from + (off_t)bytes > atol(limit)) bytes = (size_t)(atol(limit) - from);
  }
  return positional ? put_at(fd, data, bytes, at) : put(fd, data, bytes);
}

ssize_t write(int fd, const void* data, size_t bytes) { return faulty(fd, data, bytes, 0, 0); }
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) { return faulty(fd, data, bytes, at, 1); }
