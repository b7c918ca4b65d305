// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "front/mpiio/open/posix_side.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include "front/mpiio/handles/table.hpp"

namespace millrace::front {
namespace {

// The function that front/posix/hook.hpp declares as AskMpi. The two libraries share no code.
bool answer(const struct stat* about, bool writes) {
  // The hook has already asked on behalf of the MPI library's own calls.
  if (thread_state.depth != 0) return false;
  const Scope scope;
  try {
    if (about == nullptr) return client::anything_pending(writes);
    client::settle_file(about->st_dev, about->st_ino, writes);
  } catch (...) {
    client::log("out of memory: calls other than MPI-IO may miss bytes that MPI-IO has written");
  }
  return false;
}

// The function that front/posix/copies.cpp exports.
using TakeCopy = bool (*)(const struct stat* original, int fd, bool (*in_hook)());

TakeCopy take_copy() {
  static const auto found = reinterpret_cast<TakeCopy>(::dlsym(RTLD_DEFAULT, "millrace_posix_copy"));
  return found;
}

bool in_hook() { return thread_state.depth != 0; }

}  // namespace

bool posix_hooks_are_here() { return take_copy() != nullptr; }

bool offer_copy(const struct stat& original, int fd) {
  return take_copy() != nullptr && take_copy()(&original, fd, &in_hook);
}

void end_copies() {
  if (take_copy() != nullptr) (void)take_copy()(nullptr, -1, nullptr);
}

void meet_posix_hooks() {
  [[maybe_unused]] static const bool met = [] {
    using Join = void (*)(bool (*)(const struct stat*, bool));
    const auto join = reinterpret_cast<Join>(::dlsym(RTLD_DEFAULT, "millrace_posix_guests"));
    if (join != nullptr) join(&answer);
    return true;
  }();
}

}  // namespace millrace::front
