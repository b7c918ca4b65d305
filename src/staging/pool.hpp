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
  Shape shape;
  std::uint64_t bytes_max = 64 * MiB;  // of all slots together, whatever the threads and requests
  std::uint64_t patience_ms = 200;     // how long a call waits for slots before it goes without
  // Gets lines for the user, at most one of each kind. May be null.
  void (*tell)(const char* line) = nullptr;
};

// Two designs that a vendor shipped: 8 slots for a process, and from 2021 on 2 for each thread.
inline constexpr PoolOptions nec2020{.shape = {1, 8 * MiB, 8 * MiB}, .bytes_max = 64 * MiB};
inline constexpr PoolOptions nec2021{.shape = {2, 4 * MiB, 4 * MiB}};

// The options from the settings.
PoolOptions pool_options(const Settings& settings, void (*tell)(const char* line));

// A process's staging memory. It lends a Staging to each call, makes new ones within the bound, and keeps
// them. If all are lent, a call waits a little and then goes on with 64 KiB of its own, outside the bound,
// until there are slots again. So calls that block in pipes cannot stop the calls that would fill these
// pipes. Thread safe. Devices outlive the pool.
class Pool {
 public:
  explicit Pool(const PoolOptions& options);

  // As Staging's, and clamped to request_max. In a child of fork(), EFAULT, as without Millrace.
  Moved write(Device& device, Address from, std::uint64_t bytes, End& to);
  Moved read(Device& device, End& from, Address to, std::uint64_t bytes);

  // Frees unused rings, for instance before a device is destroyed.
  void forget(const Device& device);

  struct Counts {
    std::uint64_t bytes = 0;  // of staging memory now
    std::uint64_t peak_bytes = 0;
    std::uint64_t narrow = 0;    // times that a call went without slots
    std::uint64_t unpinned = 0;  // rings that could not be registered
    std::uint64_t retired = 0;   // rings lost to copies that did not end
  };
  Counts counts() const;

 private:
  // `mover` moves some bytes from an offset on through a Staging, and returns their number.
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
  bool told_unpinned_ = false;                  // guarded by mutex_
};

}  // namespace millrace::staging
