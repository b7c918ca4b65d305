// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "client/costs.hpp"

namespace millrace::client {

// The times of a file system's files, for each way.
struct Ways {
  Observed direct, pipeline;
  void join(const Ways& other) {
    direct.join(other.direct);
    pipeline.join(other.pipeline);
  }
};

// The time of one open's calls, and the expected time. Thread safe.
class Stint {
 public:
  // A transfer goes this way. The time of a non-blocking one is unknown. The expected time of a sync is
  // unknown if the decision did not expect a sync.
  void moved(bool pipeline, std::uint64_t bytes, const Expected& expected, bool nonblocking);
  void spoil() { spoilt_.store(true, std::memory_order_relaxed); }
  // The time of a direct call, or of a sync.
  void took(std::uint64_t ns) { took_ns_.fetch_add(ns, std::memory_order_relaxed); }
  // `through_ns`: the time of calls into the pipeline, of waits for it, sync and close. The result is empty
  // if the file was small or went both ways.
  Ways end(std::uint64_t through_ns) const;

 private:
  struct Way {
    std::atomic<std::uint64_t> bytes{0}, expected_ps{0};
  };
  std::atomic<bool> spoilt_{false};
  std::atomic<std::uint64_t> took_ns_{0};
  Way direct_, pipeline_;
};

// The times of files of one file system: of one rank, or of several.
struct ObservedFiles {
  std::uint64_t file_system = 0;  // 0: of none
  Ways ways;
};

// A process's observations of its files, on the file system of the last one. Thread safe.
class Observations {
 public:
  void add(std::uint64_t file_system, const Ways& ways);
  ObservedFiles all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  ObservedFiles all_;
};

}  // namespace millrace::client
