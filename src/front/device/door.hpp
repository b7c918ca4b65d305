// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include "staging/entry.hpp"

// Tells whether a pointer of the program is to a device's memory. A call costs one comparison if the process
// has no driver, and a check of the pointer if it has one. Needs libc alone. Thread safe.
namespace millrace::front::device {

// True if the process has a driver. Only look() sets it.
extern std::atomic<bool> driver_seen;  // NOLINT(bugprone-dynamic-static-initializers): constinit

// Checks whether the program has loaded a driver. Takes 15 ns and no system call.
void look();

// Calls that move fewer bytes do not call look(). Larger calls do.
inline constexpr std::size_t worth_looking_bytes = 4 << 10;

// The device that owns a pointer. `device` is null if none does.
struct Found {
  const staging::DeviceEntry* entry = nullptr;
  void* device = nullptr;
  explicit operator bool() const { return device != nullptr; }
};
// Asks the driver. If `remembers` is true, does not ask again about a place that this thread lately found to
// be the host's.
Found ask(const void* pointer, bool remembers);

// Call it before touching `bytes` bytes at `pointer`.
inline Found find(const void* pointer, std::size_t bytes) {
  constexpr std::size_t worth_asking_bytes = 64 << 10;
  if (bytes >= worth_looking_bytes) look();
  return driver_seen.load(std::memory_order_relaxed) ? ask(pointer, bytes < worth_asking_bytes) : Found{};
}

// Call it after a system call has failed because of the pointer.
inline Found find_refused(const void* pointer) {
  look();
  return driver_seen.load(std::memory_order_relaxed) ? ask(pointer, false) : Found{};
}

// Marks that this thread is moving device memory. Its calls inside concern host memory only, so find() finds
// nothing. Thread cancellation is disabled meanwhile, because drivers do not support it.
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
