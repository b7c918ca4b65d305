// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "staging/testing/fake_cuda_state.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace millrace::staging::cuda::fake {
// A call of the driver. It holds the driver's lock, is counted, and fails if the test wants that.
class Call {
 public:
  explicit Call(bool needs_init = true) : lock_(driver().mutex) {
    Driver& all = driver();
    const bool its_turn = ++all.calls == all.fail_at;
    if (needs_init && !all.initialized) error_ = not_initialized;
    if (its_turn) error_ = all.fail_with;
    failed_ = its_turn;
  }
  bool ok() const { return error_ == success; }
  // For a release, which does its work even if it reports an error, as in the real driver.
  bool acts() const { return ok() || failed_; }
  Error error() const { return error_; }
  std::unique_lock<std::mutex>& lock() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
  Error error_ = success;
  bool failed_ = false;
};

// The thread's current context, or null if there is none that can be used.
inline ContextState* current() {
  return stack().empty() || !stack().back()->alive ? nullptr : stack().back();
}

inline Error no_context() { return stack().empty() ? invalid_context : context_is_destroyed; }

}  // namespace millrace::staging::cuda::fake
