// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MILLRACE_FIBER_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define MILLRACE_FIBER_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define MILLRACE_FIBER_ASAN
#endif
#if defined(__SANITIZE_THREAD__)
#define MILLRACE_FIBER_TSAN
#endif
#if defined(MILLRACE_FIBER_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(MILLRACE_FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace millrace::sim {

namespace {

constexpr std::size_t guard_bytes = 4096;
// Only used pages take memory. Instrumented frames are larger.
#if defined(MILLRACE_FIBER_ASAN) || defined(MILLRACE_FIBER_TSAN)
constexpr std::size_t stack_bytes = std::size_t{512} << 10;
#else
constexpr std::size_t stack_bytes = std::size_t{64} << 10;
#endif

transport::Mapping make_stack(std::size_t stacks) {
  const std::size_t bytes = guard_bytes + stacks * stack_bytes;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  transport::Mapping stack(memory, bytes);
  if (::mprotect(memory, guard_bytes, PROT_NONE) != 0) std::abort();
  return stack;
}

}  // namespace

Fiber::Fiber(std::function<void()> body, std::size_t stacks)
    : body_(std::move(body)), stack_(make_stack(stacks)) {
  ::getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_.data() + guard_bytes;
  inside_.uc_stack.ss_size = stacks * stack_bytes;
  // makecontext() passes ints.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
#if defined(MILLRACE_FIBER_TSAN)
  thread_inside_ = ::__tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  if (begun_ && !ended_) std::abort();
#if defined(MILLRACE_FIBER_TSAN)
  ::__tsan_destroy_fiber(thread_inside_);
#endif
}

void Fiber::resume() {
  if (ended_) return;
  begun_ = true;
#if defined(MILLRACE_FIBER_TSAN)
  thread_outside_ = ::__tsan_get_current_fiber();
  ::__tsan_switch_to_fiber(thread_inside_, 0);
#endif
#if defined(MILLRACE_FIBER_ASAN)
  void* fake = nullptr;
  ::__sanitizer_start_switch_fiber(&fake, inside_.uc_stack.ss_sp, inside_.uc_stack.ss_size);
#endif
  ::swapcontext(&outside_, &inside_);
#if defined(MILLRACE_FIBER_ASAN)
  ::__sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

void Fiber::leave() {
#if defined(MILLRACE_FIBER_TSAN)
  ::__tsan_switch_to_fiber(thread_outside_, 0);
#endif
#if defined(MILLRACE_FIBER_ASAN)
  // An ended fiber needs its fake stack no more, so the place for it is nullptr.
  ::__sanitizer_start_switch_fiber(ended_ ? nullptr : &fake_inside_, outside_bottom_, outside_bytes_);
#endif
  ::swapcontext(&inside_, &outside_);
}

void Fiber::stop() {
  leave();
#if defined(MILLRACE_FIBER_ASAN)
  ::__sanitizer_finish_switch_fiber(fake_inside_, &outside_bottom_, &outside_bytes_);
#endif
}

void Fiber::enter(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
#if defined(MILLRACE_FIBER_ASAN)
  ::__sanitizer_finish_switch_fiber(nullptr, &self->outside_bottom_, &self->outside_bytes_);
#endif
  self->body_();
  self->ended_ = true;
  self->leave();
}

}  // namespace millrace::sim
