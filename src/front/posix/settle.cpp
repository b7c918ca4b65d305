// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Hooks of functions that look at a descriptor's file, or change the meaning of a write. They settle the file
// first, so that the file is as the program expects.
#include <cstdarg>

#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

using millrace::front::before_lock;
using millrace::front::release;
using millrace::front::release_all;
using millrace::front::settle;
using millrace::front::settle_all;
using millrace::front::shown;
namespace real = millrace::front::real;

static_assert(sizeof(struct stat) == sizeof(struct stat64), "shown() takes both");

MILLRACE_HOOK off_t lseek(int fd, off_t offset, int whence) noexcept {
  if (whence != SEEK_SET && whence != SEEK_CUR) settle(fd);
  return real::lseek(fd, offset, whence);
}

MILLRACE_HOOK off64_t lseek64(int fd, off64_t offset, int whence) noexcept {
  if (whence != SEEK_SET && whence != SEEK_CUR) settle(fd);
  return real::lseek64(fd, offset, whence);
}

MILLRACE_HOOK off_t __lseek(int fd, off_t offset, int whence) noexcept {
  if (whence != SEEK_SET && whence != SEEK_CUR) settle(fd);
  return real::__lseek(fd, offset, whence);
}

MILLRACE_HOOK int ftruncate(int fd, off_t size) noexcept {
  settle(fd, true);
  return real::ftruncate(fd, size);
}

MILLRACE_HOOK int ftruncate64(int fd, off64_t size) noexcept {
  settle(fd, true);
  return real::ftruncate64(fd, size);
}

MILLRACE_HOOK int posix_fallocate(int fd, off_t at, off_t bytes) {
  settle(fd);
  return real::posix_fallocate(fd, at, bytes);
}

MILLRACE_HOOK int posix_fallocate64(int fd, off64_t at, off64_t bytes) {
  settle(fd);
  return real::posix_fallocate64(fd, at, bytes);
}

MILLRACE_HOOK int fallocate(int fd, int mode, off_t at, off_t bytes) {
  settle(fd);
  return real::fallocate(fd, mode, at, bytes);
}

MILLRACE_HOOK int fallocate64(int fd, int mode, off64_t at, off64_t bytes) {
  settle(fd);
  return real::fallocate64(fd, mode, at, bytes);
}

MILLRACE_HOOK int fstat(int fd, struct stat* about) noexcept {
  settle(fd);
  return shown(real::fstat(fd, about), about);
}

MILLRACE_HOOK int fstat64(int fd, struct stat64* about) noexcept {
  settle(fd);
  return shown(real::fstat64(fd, about), reinterpret_cast<struct stat*>(about));
}

MILLRACE_HOOK int __fxstat(int version, int fd, struct stat* about) noexcept {
  settle(fd);
  return shown(real::__fxstat(version, fd, about), about);
}

MILLRACE_HOOK int __fxstat64(int version, int fd, struct stat64* about) noexcept {
  settle(fd);
  return shown(real::__fxstat64(version, fd, about), reinterpret_cast<struct stat*>(about));
}

MILLRACE_HOOK int flock(int fd, int operation) noexcept {
  settle(fd);
  before_lock(fd);
  return real::flock(fd, operation);
}

MILLRACE_HOOK int lockf(int fd, int command, off_t bytes) {
  settle(fd);
  before_lock(fd);
  return real::lockf(fd, command, bytes);
}

MILLRACE_HOOK int lockf64(int fd, int command, off64_t bytes) {
  settle(fd);
  before_lock(fd);
  return real::lockf64(fd, command, bytes);
}

MILLRACE_HOOK int futimens(int fd, const timespec times[2]) noexcept {
  settle(fd);
  return real::futimens(fd, times);
}

MILLRACE_HOOK int futimes(int fd, const timeval times[2]) noexcept {
  settle(fd);
  return real::futimes(fd, times);
}

MILLRACE_HOOK int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  settle(fd);
  return real::ioctl(fd, request, argument);
}

MILLRACE_HOOK int sync_file_range(int fd, off64_t at, off64_t bytes, unsigned flags) {
  settle(fd);
  return real::sync_file_range(fd, at, bytes, flags);
}

MILLRACE_HOOK void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t at) noexcept {
  if ((flags & MAP_ANONYMOUS) == 0) release(fd);
  return real::mmap(address, bytes, protection, flags, fd, at);
}

MILLRACE_HOOK void* mmap64(void* address, size_t bytes, int protection, int flags, int fd,
                           off64_t at) noexcept {
  if ((flags & MAP_ANONYMOUS) == 0) release(fd);
  return real::mmap64(address, bytes, protection, flags, fd, at);
}

MILLRACE_HOOK ssize_t sendfile(int to, int from, off_t* at, size_t bytes) noexcept {
  settle(to);
  settle(from);
  return real::sendfile(to, from, at, bytes);
}

MILLRACE_HOOK ssize_t sendfile64(int to, int from, off64_t* at, size_t bytes) noexcept {
  settle(to);
  settle(from);
  return real::sendfile64(to, from, at, bytes);
}

MILLRACE_HOOK ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t bytes,
                                      unsigned flags) {
  settle(to);
  settle(from);
  return real::copy_file_range(from, from_at, to, to_at, bytes, flags);
}

MILLRACE_HOOK ssize_t splice(int from, off64_t* from_at, int to, off64_t* to_at, size_t bytes,
                             unsigned flags) {
  settle(to);
  settle(from);
  return real::splice(from, from_at, to, to_at, bytes, flags);
}

// libc's own threads make these transfers later, where no hook sees them.
MILLRACE_HOOK int aio_read(aiocb* request) noexcept {
  release(request->aio_fildes);
  return real::aio_read(request);
}

MILLRACE_HOOK int aio_read64(aiocb64* request) noexcept {
  release(request->aio_fildes);
  return real::aio_read64(request);
}

MILLRACE_HOOK int aio_write(aiocb* request) noexcept {
  release(request->aio_fildes);
  return real::aio_write(request);
}

MILLRACE_HOOK int aio_write64(aiocb64* request) noexcept {
  release(request->aio_fildes);
  return real::aio_write64(request);
}

MILLRACE_HOOK int lio_listio(int mode, aiocb* const requests[], int count, sigevent* event) noexcept {
  release_all();
  return real::lio_listio(mode, requests, count, event);
}

MILLRACE_HOOK int lio_listio64(int mode, aiocb64* const requests[], int count, sigevent* event) noexcept {
  release_all();
  return real::lio_listio64(mode, requests, count, event);
}

// The message may send a descriptor to another process.
MILLRACE_HOOK ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (message != nullptr && message->msg_controllen > 0) release_all();
  return real::sendmsg(fd, message, flags);
}

MILLRACE_HOOK int syncfs(int fd) noexcept {
  settle_all();
  return real::syncfs(fd);
}
