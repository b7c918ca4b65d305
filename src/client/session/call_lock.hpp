// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <atomic>
#include <ctime>

namespace millrace::client {

// A mutex for sections that are nearly always free. It takes one atomic exchange to lock and a plain store to
// unlock. The exchange waits until all earlier stores have left the core, which takes 15 ns in a call with
// one small record. So without MPI_THREAD_MULTIPLE the mutex locks nothing. A thread that finds the mutex
// locked yields, then sleeps between looks, because the holder may wait for the agent.
class CallLock {
 public:
  // With `shared` false, callers promise never to overlap.
  explicit CallLock(bool shared) : shared_(shared) {}

  void lock() {
    if (!shared_ || !taken_.exchange(true, std::memory_order_acquire)) return;
    wait();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  void wait() {
    for (int tries = 0;
         taken_.load(std::memory_order_relaxed) || taken_.exchange(true, std::memory_order_acquire);
         ++tries) {
      if (tries < 16) {
        ::sched_yield();
      } else {
        const timespec pause{0, tries < 64 ? 20'000 : 500'000};
        ::nanosleep(&pause, nullptr);
      }
    }
  }

  const bool shared_;
  std::atomic<bool> taken_{false};
};

}  // namespace millrace::client
