// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plain/engine.hpp"

// What is exported; everything else of the library is hidden.
#define MILLRACE_HOOK extern "C" __attribute__((visibility("default")))

namespace millrace::front {

// The process's engine, over the real functions.
plain::Engine& engine();

// Before something that could find bytes of write-behind missing, or would go on with a second descriptor of
// the file.
inline void settle(int fd) { engine().behind().settle(fd); }
inline void settle_all() { engine().behind().settle_all(); }
inline void release(int fd) { engine().behind().release(fd); }
inline void drop(int fd) { engine().behind().drop(fd); }
inline void release_all() { engine().behind().release_all(); }

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
  static constinit thread_local bool busy;  // NOLINT(bugprone-dynamic-static-initializers)
  bool entered_;
};

}  // namespace millrace::front
