// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <aio.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

#include <cstdio>
#include <cstdlib>

#if defined(_FORTIFY_SOURCE) || (defined(_FILE_OFFSET_BITS) && __SIZEOF_LONG__ < 8)
#error "these settings rename the functions that are hooked here"
#endif

// Functions that libc has but does not declare: checked variants, and variants for programs that were built
// with an older libc.
extern "C" {
ssize_t __read_chk(int fd, void* data, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void* data, size_t bytes, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void* data, size_t bytes, off64_t at, size_t room);
size_t __fread_chk(void* data, size_t room, size_t size, size_t count, FILE* stream);
size_t __fread_unlocked_chk(void* data, size_t room, size_t size, size_t count, FILE* stream);
int __open_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __fxstat(int version, int fd, struct stat* about) noexcept;
int __fxstat64(int version, int fd, struct stat64* about) noexcept;
int __xstat(int version, const char* path, struct stat* about) noexcept;
int __xstat64(int version, const char* path, struct stat64* about) noexcept;
int __fxstatat(int version, int folder, const char* path, struct stat* about, int flags) noexcept;
int __fxstatat64(int version, int folder, const char* path, struct stat64* about, int flags) noexcept;
int close_range(unsigned first, unsigned last, int flags) noexcept;  // declared by glibc from 2.34 on
}

namespace millrace::front {

enum class PosixSlot : unsigned {
#define HOOK(name, like) name,
#include "front/posix/names.inc"
#undef HOOK
  count
};

// The next function of that name after Millrace's, looked up once. If no library has the function, the
// process ends, as the dynamic linker would end it. Allocates nothing and takes no lock, because a preloaded
// malloc may read files while it starts.
void* real_function(PosixSlot slot);

// real::write(...) is the function that the program would have called without Millrace.
namespace real {
#define HOOK(name, like)                                                                      \
  template <class... Arguments>                                                               \
  auto name(Arguments... arguments) {                                                         \
    return reinterpret_cast<decltype(&::like)>(real_function(PosixSlot::name))(arguments...); \
  }
#include "front/posix/names.inc"
#undef HOOK
}  // namespace real

}  // namespace millrace::front
