// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>

#include "staging/device.hpp"
#include "staging/worker.hpp"

namespace millrace::staging {

// The rate and latency of a simulated link, by CopyDirection. If all are zero, copies take no extra time.
struct Delays {
  std::array<double, 2> bytes_per_s{};
  std::array<std::uint64_t, 2> latency_ns{};
  std::uint64_t jitter_ns = 0;  // each copy takes up to this much longer, by chance
  std::uint64_t seed = 1;

  bool any() const;
};

// A simulated link with two directions. All queues of a device share it. Thread safe.
class SimulatedLink {
 public:
  using Steady = std::chrono::steady_clock;
  explicit SimulatedLink(const Delays& delays) : delays_(delays), dice_(delays.seed) {}
  // Returns when a copy that begins now ends.
  Steady::time_point due(CopyDirection direction, std::size_t bytes);

 private:
  const Delays delays_;
  std::mutex mutex_;
  std::array<Steady::time_point, 2> free_at_{};  // guarded by mutex_
  std::mt19937_64 dice_;                         // guarded by mutex_
};

// The options of queues that copy with the processor.
struct CopyOptions {
  bool asynchronous = true;  // each queue has a thread that copies; if false, post() copies
  Delays delays;
  std::size_t in_flight_max = 16;
  std::uint64_t timeout_ms = 60'000;  // of a wait()
};

// Copies the bytes before it returns. Several queues' threads may call it at the same time.
using CopyFunction = std::function<Status(CopyDirection, Address, std::span<std::byte>)>;

Result<std::unique_ptr<Queue>> open_copy_queue(const CopyOptions& options, SimulatedLink& link,
                                               CopyFunction copy);

}  // namespace millrace::staging
