// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include "staging/entry.hpp"

// Tells whether a pointer of the program is to a device's memory. Without a driver, a program pays one
// comparison; with one, a look at the pointer. Needs libc alone.
namespace millrace::front::device {

// True if the process has a driver. Only look() sets it.
extern std::atomic<bool> driver_seen;  // NOLINT(bugprone-dynamic-static-initializers): constinit

// Checks whether the program has loaded a driver. Takes 15 ns and no system call.
void look();

// Calls that move less than this do not look, and rely on larger calls.
inline constexpr std::size_t worth_looking_bytes = 4 << 10;

// A pointer to device memory, if `device` is not null.
struct Found {
  const staging::Entry* entry = nullptr;
  void* device = nullptr;
  explicit operator bool() const { return device != nullptr; }
};
// Asks the driver; `remembers`: skips the question if this thread has asked for the same place lately.
Found ask(const void* pointer, bool remembers);

// Before `bytes` at `pointer` are touched.
inline Found find(const void* pointer, std::size_t bytes) {
  constexpr std::size_t worth_asking_bytes = 64 << 10;
  if (bytes >= worth_looking_bytes) look();
  return driver_seen.load(std::memory_order_relaxed) ? ask(pointer, bytes < worth_asking_bytes) : Found{};
}

// After a system call could not use the pointer.
inline Found find_refused(const void* pointer) {
  look();
  return driver_seen.load(std::memory_order_relaxed) ? ask(pointer, false) : Found{};
}

// While it lives, this thread moves device memory. Its calls concern host memory only meanwhile, so find()
// finds nothing. Cancellation is deferred, because drivers do not support it.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int cancellable_ = 0;
};

}  // namespace millrace::front::device
