// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "staging/staging.hpp"

namespace millrace::staging {

struct PoolOptions {
  Shape shape = {};
  std::uint64_t bytes_max = 64 * MiB;  // of all slots together, for any number of threads and requests
  std::uint64_t patience_ms = 200;     // the time that a call waits for slots before it goes on without
  // Prints a line for the user; called at most once for each kind of line. May be null.
  void (*tell)(const char* line) = nullptr;
};

// The staging memory of a process. The pool owns the Stagings: it lends one to each call, makes new ones
// within the bound, and keeps them. If all are lent, a call waits for `patience_ms`. Then it goes on with 64
// KiB of its own, outside the bound, until there are slots again. So a call that blocks in a pipe cannot stop
// the call that would fill the pipe. Thread safe. Devices outlive the pool.
class Pool {
 public:
  explicit Pool(const PoolOptions& options);

  // Do the same as write_through() and read_through() of Staging, for at most request_max bytes. In a child
  // of fork() they return EFAULT, which the program's own call would return too.
  Moved write(Device& device, Address from, std::uint64_t bytes, End& to);
  Moved read(Device& device, End& from, Address to, std::uint64_t bytes);

  // Frees this device's unused Stagings. Call it before the device is destroyed.
  void forget(const Device& device);

  struct Counts {
    std::uint64_t bytes = 0;  // of staging memory at present
    std::uint64_t peak_bytes = 0;
    std::uint64_t narrow = 0;    // parts that calls moved without slots of the pool
    std::uint64_t unpinned = 0;  // Stagings that could not be registered
    std::uint64_t retired = 0;   // Stagings lost to copies that did not end
  };
  Counts counts() const;

 private:
  // `mover` moves a part of the bytes, from an offset on, through a Staging.
  template <class Mover>
  Moved move(Device& device, std::uint64_t bytes, const Mover& mover);
  std::unique_ptr<Staging> borrow(Device& device, bool may_wait);
  void give_back(std::unique_ptr<Staging> staging);
  std::unique_ptr<Staging> take_idle(const Device& device);
  void tell_unpinned(Status why, const Device& device);

  const PoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Staging>> idle_;  // guarded by mutex_
  Counts counts_;                               // guarded by mutex_
};

}  // namespace millrace::staging
