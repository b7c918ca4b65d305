// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/posix/real.hpp"

#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace millrace::front {
namespace {

constexpr auto slot_count = static_cast<unsigned>(PosixSlot::count);

constexpr std::array<const char*, slot_count> names = {
#define HOOK(name, like) #name,
#include "front/posix/names.inc"
#undef HOOK
};

constinit std::array<void*, slot_count> functions = {};

[[noreturn]] void missing(const char* name) {
  dprintf(STDERR_FILENO, "millrace: this process has no function %s\n", name);
  _exit(127);
}

// A glibc before 2.33 has the functions of stat() only in a form whose first argument is the version of
// struct stat.
#ifdef __x86_64__
constexpr int stat_version = 1;
#else
constexpr int stat_version = 0;
#endif
int old_stat(const char* path, struct stat* about) { return real::__xstat(stat_version, path, about); }
int old_lstat(const char* path, struct stat* about) { return real::__lxstat(stat_version, path, about); }
int old_fstat(int fd, struct stat* about) { return real::__fxstat(stat_version, fd, about); }
int old_fstatat(int folder, const char* path, struct stat* about, int flags) {
  return real::__fxstatat(stat_version, folder, path, about, flags);
}
static_assert(sizeof(struct stat) == sizeof(struct stat64));

void* function_of_old_libc(PosixSlot slot) {
  switch (slot) {
    case PosixSlot::stat:
    case PosixSlot::stat64:
      return reinterpret_cast<void*>(&old_stat);
    case PosixSlot::lstat:
    case PosixSlot::lstat64:
      return reinterpret_cast<void*>(&old_lstat);
    case PosixSlot::fstat:
    case PosixSlot::fstat64:
      return reinterpret_cast<void*>(&old_fstat);
    case PosixSlot::fstatat:
    case PosixSlot::fstatat64:
      return reinterpret_cast<void*>(&old_fstatat);
    default:
      return nullptr;
  }
}

void* look_up(unsigned index) {
  const int error = errno;
  void* function = dlsym(RTLD_NEXT, names[index]);
  if (function == nullptr) function = function_of_old_libc(static_cast<PosixSlot>(index));
  if (function == nullptr) missing(names[index]);
  __atomic_store_n(&functions[index], function, __ATOMIC_RELAXED);
  errno = error;
  return function;
}

}  // namespace

void* real_function(PosixSlot slot) {
  const auto index = static_cast<unsigned>(slot);
  void* function = __atomic_load_n(&functions[index], __ATOMIC_RELAXED);
  return function != nullptr ? function : look_up(index);
}

}  // namespace millrace::front
