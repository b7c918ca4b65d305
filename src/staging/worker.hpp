// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <csignal>
#include <functional>
#include <memory>
#include <utility>

#include "base/result.hpp"

namespace millrace::staging {

// A thread with all signals blocked. Starting and joining it throw no exceptions. The owner joins it.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { join(); }

  Status start(std::function<void()> work) {
    auto held = std::make_unique<std::function<void()>>(std::move(work));
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread_, nullptr, &run, held.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) return Status::from_errno(error);
    (void)held.release();  // the thread owns it now
    runs_ = true;
    return {};
  }
  void join() {
    if (std::exchange(runs_, false)) pthread_join(thread_, nullptr);
  }

 private:
  static void* run(void* work) {
    const std::unique_ptr<std::function<void()>> held(static_cast<std::function<void()>*>(work));
    (*held)();
    return nullptr;
  }

  pthread_t thread_{};
  bool runs_ = false;
};

}  // namespace millrace::staging
