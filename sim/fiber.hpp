// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

#include "transport/memory.hpp"

namespace millrace::sim {

// A function with a stack of its own, which stops in the middle and goes on later where it was. All of them
// run in one thread, one at a time. The body has to have ended, or never begun, when the fiber is destroyed:
// what lies on its stack has destructors.
class Fiber {
 public:
  // Its stack is as large as `stacks` of the usual ones.
  explicit Fiber(std::function<void()> body, std::size_t stacks = 1);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From the thread's own stack: the body goes on until it stops or ends.
  void resume();
  // From within the body.
  void stop();
  bool begun() const { return begun_; }
  bool ended() const { return ended_; }

 private:
  static void enter(unsigned high, unsigned low);
  void leave();

  std::function<void()> body_;
  transport::Mapping stack_;  // its first page can't be touched
  ucontext_t inside_{};
  ucontext_t outside_{};
  bool begun_ = false;
  bool ended_ = false;
  // What sanitizers want to know of both stacks.
  [[maybe_unused]] void* fake_inside_ = nullptr;
  [[maybe_unused]] const void* outside_bottom_ = nullptr;
  [[maybe_unused]] std::size_t outside_bytes_ = 0;
  [[maybe_unused]] void* thread_inside_ = nullptr;
  [[maybe_unused]] void* thread_outside_ = nullptr;
};

}  // namespace millrace::sim
