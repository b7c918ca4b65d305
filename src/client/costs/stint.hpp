// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "client/costs/costs.hpp"

namespace millrace::client {

// The times of a file system's files, for each way.
struct Ways {
  Observed direct, pipeline;
  void join(const Ways& other) {
    direct.join(other.direct);
    pipeline.join(other.pipeline);
  }
};

// Collects the time of one open's calls, and the expected time of its transfers. Thread safe.
class Stint {
 public:
  // Counts a transfer that goes this way. A non-blocking transfer by the MPI library spoils the collection,
  // because its time is unknown. So does a sync that the decision did not expect: its expected time is
  // unknown.
  void moved(bool pipeline, std::uint64_t bytes, const Expected& expected, bool nonblocking);
  void spoil() { spoilt_.store(true, std::memory_order_relaxed); }
  // Adds the time of a direct call or of a sync.
  void took(std::uint64_t ns) { took_ns_.fetch_add(ns, std::memory_order_relaxed); }
  // `through_ns`: the time of calls into the pipeline, of waits for it, of sync and of close. The result is
  // empty if the collection is spoilt, the file was small, or the file went both ways.
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

// The times of a process's files on the file system of its last file. Thread safe.
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
