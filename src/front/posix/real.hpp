// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

#if defined(_FORTIFY_SOURCE) || (defined(_FILE_OFFSET_BITS) && __SIZEOF_LONG__ < 8)
#error "these settings rename the functions that are hooked here"
#endif

namespace millrace::front {

enum class PosixSlot : unsigned {
#define HOOK(name, like) name,
#include "front/posix/names.inc"
#undef HOOK
  count
};

// The next function of that name, after Millrace's; looked up once. Ends the process if nobody has it, as the
// dynamic linker does. Allocates nothing, takes no lock of ours: a malloc that is preloaded too may read
// files while it starts.
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
