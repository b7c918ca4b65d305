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

// The time of a simulated link, by Direction. All zero: as fast as this machine copies.
struct Delays {
  std::array<double, 2> bytes_per_s{};
  std::array<std::uint64_t, 2> latency_ns{};
  std::uint64_t jitter_ns = 0;  // added to each copy: evenly between 0 and this, by seed
  std::uint64_t seed = 1;

  bool any() const;
};

// A link's directions, which all queues of a device share. Thread safe.
class Link {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Link(const Delays& delays) : delays_(delays), dice_(delays.seed) {}
  // The end of a copy that begins now.
  Clock::time_point due(Direction direction, std::size_t bytes);

 private:
  const Delays delays_;
  std::mutex mutex_;
  std::array<Clock::time_point, 2> free_at_{};  // guarded by mutex_
  std::mt19937_64 dice_;                        // guarded by mutex_
};

// Options of all queues that copy by the processor.
struct CopyOptions {
  bool asynchronous = true;  // a thread for each queue copies; else post() does
  Delays delays;
  std::size_t in_flight_max = 16;
  std::uint64_t timeout_ms = 60'000;  // of a wait
};

// Moves bytes at once. Called from any queue's thread.
using Copy = std::function<Status(Direction, Address, std::span<std::byte>)>;

Result<std::unique_ptr<Queue>> open_copy_queue(const CopyOptions& options, Link& link, Copy copy);

}  // namespace millrace::staging
