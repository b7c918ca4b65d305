// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
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
    if (!try_lock()) wait();
  }
  bool try_lock() {
    pthread_t nobody{};
    return !shared_ || holder_.compare_exchange_strong(nobody, ::pthread_self(), std::memory_order_acquire);
  }
  void unlock() { holder_.store({}, std::memory_order_release); }
  // False: a section of this thread has the lock, or for so long one of another thread. In an exit handler, a
  // signal may have interrupted that section for good.
  bool comes_free(std::chrono::milliseconds within) {
    const auto end = std::chrono::steady_clock::now() + within;
    while (!try_lock()) {
      const bool own = holder_.load(std::memory_order_relaxed) == ::pthread_self();
      if (own || std::chrono::steady_clock::now() >= end) return false;
      const timespec pause{0, 500'000};
      ::nanosleep(&pause, nullptr);
    }
    unlock();
    return true;
  }

 private:
  void wait() {
    for (int tries = 0; holder_.load(std::memory_order_relaxed) != pthread_t{} || !try_lock(); ++tries) {
      if (tries < 16) {
        ::sched_yield();
      } else {
        const timespec pause{0, tries < 64 ? 20'000 : 500'000};
        ::nanosleep(&pause, nullptr);
      }
    }
  }

  const bool shared_;
  std::atomic<pthread_t> holder_{};
};

}  // namespace millrace::client
