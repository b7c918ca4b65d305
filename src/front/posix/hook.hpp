// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plain/engine.hpp"

// What is exported; everything else of the library is hidden.
#define MILLRACE_HOOK extern "C" __attribute__((visibility("default")))

namespace millrace::front {

// The process's engine, over the real functions.
plain::Engine& engine();

// True for the outermost hook of this thread. A signal handler that interrupts one, and what the engine
// itself calls, go to the real functions.
class Entrance {
 public:
  Entrance() : entered_(!busy) { busy = true; }
  ~Entrance() {
    if (entered_) busy = false;
  }
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  static constinit thread_local bool busy;
  bool entered_;
};

}  // namespace millrace::front
