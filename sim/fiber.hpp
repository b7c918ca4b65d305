// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

#include "transport/memory.hpp"

namespace millrace::sim {

// A function with a stack of its own, which can stop in the middle and continue later. All fibers run in one
// thread, one at a time. At the fiber's destruction the body must have ended, or never begun, because objects
// on its stack have destructors.
class Fiber {
 public:
  // `stacks`: the size of its stack, in usual stacks.
  explicit Fiber(std::function<void()> body, std::size_t stacks = 1);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Called from the thread's own stack: continues the body until it stops or ends.
  void resume();
  // Called from within the body.
  void stop();
  bool begun() const { return begun_; }
  bool ended() const { return ended_; }

 private:
  static void enter(unsigned high, unsigned low);
  void leave();

  std::function<void()> body_;
  transport::Mapping stack_;  // its first page faults
  ucontext_t inside_{};
  ucontext_t outside_{};
  bool begun_ = false;
  bool ended_ = false;
  // The sanitizers' data about both stacks.
  [[maybe_unused]] void* fake_inside_ = nullptr;
  [[maybe_unused]] const void* outside_bottom_ = nullptr;
  [[maybe_unused]] std::size_t outside_bytes_ = 0;
  [[maybe_unused]] void* thread_inside_ = nullptr;
  [[maybe_unused]] void* thread_outside_ = nullptr;
};

}  // namespace millrace::sim
