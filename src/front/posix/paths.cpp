// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
//
// Hooks of functions that look at files by name, start programs or end this one. They settle all files,
// because a name may mean any of them.
#include <alloca.h>

#include <cstdarg>

#include "front/posix/hook.hpp"
#include "front/posix/real.hpp"

using millrace::front::release_all;
using millrace::front::settle_all;
using millrace::front::settle_named;
namespace real = millrace::front::real;

MILLRACE_HOOK int stat(const char* path, struct stat* about) noexcept {
  settle_named(AT_FDCWD, path, 0);
  return real::stat(path, about);
}

MILLRACE_HOOK int stat64(const char* path, struct stat64* about) noexcept {
  settle_named(AT_FDCWD, path, 0);
  return real::stat64(path, about);
}

MILLRACE_HOOK int lstat(const char* path, struct stat* about) noexcept {
  settle_named(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
  return real::lstat(path, about);
}

MILLRACE_HOOK int lstat64(const char* path, struct stat64* about) noexcept {
  settle_named(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
  return real::lstat64(path, about);
}

MILLRACE_HOOK int fstatat(int folder, const char* path, struct stat* about, int flags) noexcept {
  settle_named(folder, path, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
  return real::fstatat(folder, path, about, flags);
}

MILLRACE_HOOK int fstatat64(int folder, const char* path, struct stat64* about, int flags) noexcept {
  settle_named(folder, path, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
  return real::fstatat64(folder, path, about, flags);
}

MILLRACE_HOOK int __xstat(int version, const char* path, struct stat* about) noexcept {
  settle_named(AT_FDCWD, path, 0);
  return real::__xstat(version, path, about);
}

MILLRACE_HOOK int __xstat64(int version, const char* path, struct stat64* about) noexcept {
  settle_named(AT_FDCWD, path, 0);
  return real::__xstat64(version, path, about);
}

MILLRACE_HOOK int __lxstat(int version, const char* path, struct stat* about) noexcept {
  settle_named(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
  return real::__lxstat(version, path, about);
}

MILLRACE_HOOK int __lxstat64(int version, const char* path, struct stat64* about) noexcept {
  settle_named(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
  return real::__lxstat64(version, path, about);
}

MILLRACE_HOOK int __fxstatat(int version, int folder, const char* path, struct stat* about,
                             int flags) noexcept {
  settle_named(folder, path, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
  return real::__fxstatat(version, folder, path, about, flags);
}

MILLRACE_HOOK int __fxstatat64(int version, int folder, const char* path, struct stat64* about,
                               int flags) noexcept {
  settle_named(folder, path, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
  return real::__fxstatat64(version, folder, path, about, flags);
}

MILLRACE_HOOK int statx(int folder, const char* path, int flags, unsigned mask,
                        struct statx* about) noexcept {
  settle_named(folder, path, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
  return real::statx(folder, path, flags, mask, about);
}

MILLRACE_HOOK int truncate(const char* path, off_t size) noexcept {
  settle_named(AT_FDCWD, path, 0, true);
  return real::truncate(path, size);
}

MILLRACE_HOOK int truncate64(const char* path, off64_t size) noexcept {
  settle_named(AT_FDCWD, path, 0, true);
  return real::truncate64(path, size);
}

MILLRACE_HOOK int rename(const char* from, const char* to) noexcept {
  settle_all();
  return real::rename(from, to);
}

MILLRACE_HOOK int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  settle_all();
  return real::renameat(from_folder, from, to_folder, to);
}

MILLRACE_HOOK int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                            unsigned flags) noexcept {
  settle_all();
  return real::renameat2(from_folder, from, to_folder, to, flags);
}

MILLRACE_HOOK int utime(const char* path, const utimbuf* times) noexcept {
  settle_all();
  return real::utime(path, times);
}

MILLRACE_HOOK int utimes(const char* path, const timeval times[2]) noexcept {
  settle_all();
  return real::utimes(path, times);
}

MILLRACE_HOOK int utimensat(int folder, const char* path, const timespec times[2], int flags) noexcept {
  settle_all();
  return real::utimensat(folder, path, times, flags);
}

MILLRACE_HOOK void sync() noexcept {
  settle_all();
  real::sync();
}

MILLRACE_HOOK int system(const char* command) {
  settle_all();
  return real::system(command);
}

MILLRACE_HOOK FILE* popen(const char* command, const char* mode) {
  settle_all();
  return real::popen(command, mode);
}

MILLRACE_HOOK int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const arguments[],
                              char* const environment[]) {
  settle_all();
  return real::posix_spawn(pid, path, actions, attributes, arguments, environment);
}

MILLRACE_HOOK int posix_spawnp(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const arguments[],
                               char* const environment[]) {
  settle_all();
  return real::posix_spawnp(pid, path, actions, attributes, arguments, environment);
}

MILLRACE_HOOK int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  settle_all();
  return real::execve(path, arguments, environment);
}

MILLRACE_HOOK int execv(const char* path, char* const arguments[]) noexcept {
  settle_all();
  return real::execv(path, arguments);
}

MILLRACE_HOOK int execvp(const char* file, char* const arguments[]) noexcept {
  settle_all();
  return real::execvp(file, arguments);
}

MILLRACE_HOOK int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
  settle_all();
  return real::execvpe(file, arguments, environment);
}

MILLRACE_HOOK int fexecve(int fd, char* const arguments[], char* const environment[]) noexcept {
  settle_all();
  return real::fexecve(fd, arguments, environment);
}

// Converts the arguments of execl to those of execv. They are on the caller's stack, because a program must
// not allocate memory between fork and exec.
#define MILLRACE_GATHER(first)                                                 \
  va_list words;                                                               \
  va_start(words, first);                                                      \
  size_t count = 1;                                                            \
  while (va_arg(words, char*) != nullptr) ++count;                             \
  va_end(words);                                                               \
  auto** arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  va_start(words, first);                                                      \
  arguments[0] = const_cast<char*>(first);                                     \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(words, char*);

MILLRACE_HOOK int execl(const char* path, const char* first, ...) noexcept {
  MILLRACE_GATHER(first)
  va_end(words);
  settle_all();
  return real::execv(path, arguments);
}

MILLRACE_HOOK int execlp(const char* file, const char* first, ...) noexcept {
  MILLRACE_GATHER(first)
  va_end(words);
  settle_all();
  return real::execvp(file, arguments);
}

MILLRACE_HOOK int execle(const char* path, const char* first, ...) noexcept {
  MILLRACE_GATHER(first)
  char* const* environment = va_arg(words, char* const*);
  va_end(words);
  settle_all();
  return real::execve(path, arguments, environment);
}

MILLRACE_HOOK void _exit(int status) {
  release_all();
  real::_exit(status);
  __builtin_unreachable();
}

MILLRACE_HOOK void _Exit(int status) noexcept {
  release_all();
  real::_Exit(status);
  __builtin_unreachable();
}

MILLRACE_HOOK void abort() noexcept {
  settle_all();
  real::abort();
  __builtin_unreachable();
}
