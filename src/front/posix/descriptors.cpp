// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Hooks of functions that open, close and duplicate descriptors. Write-behind has to see these calls.
#include <cerrno>
#include <cstdarg>

#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

using millrace::front::before_lock;
using millrace::front::drop;
using millrace::front::engine;
using millrace::front::look_for_copy;
using millrace::front::release;
using millrace::front::release_all;
using millrace::front::settle;
using millrace::front::settle_named;
namespace real = millrace::front::real;

namespace {

// Opens a file. If the open truncates the file, pending bytes are written first.
template <class Real>
int opened(int folder, const char* path, int flags, Real real) {
  if ((flags & O_TRUNC) != 0) settle_named(folder, path, 0, true);
  const int fd = real();
  if (fd < 0) return fd;
  engine().opened(fd, flags);
  look_for_copy(fd, flags);
  return fd;
}

// The mode argument of open(2), if the flags require one.
mode_t mode_of(int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(arguments, mode_t) : mode_t{0};
}

template <class Real>
int closed(int fd, Real real) {
  const int late = engine().behind().settle_to_tell(fd);
  drop(fd);
  const int result = real();
  if (result != 0 || late == 0) return result;
  errno = late;
  return -1;
}

// Settles the file before any command. So the file is as the program expects, and a file with a second
// descriptor has no write-behind.
void before_command(int fd, int command) {
  if (command == F_GETFD || command == F_SETFD || command == F_GETFL) return;
  if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW)
    before_lock(fd);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC || command == F_SETFL) {
    release(fd);
  } else {
    settle(fd);
  }
}

}  // namespace

MILLRACE_HOOK int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(AT_FDCWD, path, flags, [=] { return real::open(path, flags, mode); });
}

MILLRACE_HOOK int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(AT_FDCWD, path, flags, [=] { return real::open64(path, flags, mode); });
}

MILLRACE_HOOK int __open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(AT_FDCWD, path, flags, [=] { return real::__open(path, flags, mode); });
}

MILLRACE_HOOK int __open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(AT_FDCWD, path, flags, [=] { return real::__open64(path, flags, mode); });
}

MILLRACE_HOOK int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(folder, path, flags, [=] { return real::openat(folder, path, flags, mode); });
}

MILLRACE_HOOK int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return opened(folder, path, flags, [=] { return real::openat64(folder, path, flags, mode); });
}

MILLRACE_HOOK int __open_2(const char* path, int flags) {
  return opened(AT_FDCWD, path, flags, [=] { return real::__open_2(path, flags); });
}

MILLRACE_HOOK int __open64_2(const char* path, int flags) {
  return opened(AT_FDCWD, path, flags, [=] { return real::__open64_2(path, flags); });
}

MILLRACE_HOOK int __openat_2(int folder, const char* path, int flags) {
  return opened(folder, path, flags, [=] { return real::__openat_2(folder, path, flags); });
}

MILLRACE_HOOK int __openat64_2(int folder, const char* path, int flags) {
  return opened(folder, path, flags, [=] { return real::__openat64_2(folder, path, flags); });
}

MILLRACE_HOOK int creat(const char* path, mode_t mode) {
  return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, [=] { return real::creat(path, mode); });
}

MILLRACE_HOOK int creat64(const char* path, mode_t mode) {
  return opened(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, [=] { return real::creat64(path, mode); });
}

MILLRACE_HOOK int close(int fd) {
  return closed(fd, [=] { return real::close(fd); });
}

MILLRACE_HOOK int __close(int fd) {
  return closed(fd, [=] { return real::__close(fd); });
}

MILLRACE_HOOK int close_range(unsigned first, unsigned last, int flags) noexcept {
  release_all();
  return real::close_range(first, last, flags);
}

MILLRACE_HOOK void closefrom(int first) noexcept {
  release_all();
  real::closefrom(first);
}

MILLRACE_HOOK int dup(int fd) noexcept {
  release(fd);
  return real::dup(fd);
}

MILLRACE_HOOK int dup2(int fd, int as) noexcept {
  release(fd);
  if (as != fd) drop(as);
  return real::dup2(fd, as);
}

MILLRACE_HOOK int __dup2(int fd, int as) noexcept {
  release(fd);
  if (as != fd) drop(as);
  return real::__dup2(fd, as);
}

MILLRACE_HOOK int dup3(int fd, int as, int flags) noexcept {
  release(fd);
  if (as != fd) drop(as);
  return real::dup3(fd, as, flags);
}

MILLRACE_HOOK int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  before_command(fd, command);
  return real::fcntl(fd, command, argument);
}

MILLRACE_HOOK int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  before_command(fd, command);
  return real::fcntl64(fd, command, argument);
}
