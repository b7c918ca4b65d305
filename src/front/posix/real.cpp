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

void* look_up(unsigned index) {
  const int error = errno;
  void* function = dlsym(RTLD_NEXT, names[index]);
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
