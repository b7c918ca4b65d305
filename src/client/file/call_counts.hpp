// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "client/costs/costs.hpp"
#include "client/costs/policy.hpp"
#include "client/costs/reasons.hpp"

namespace millrace::client {

// The calls of one open, and the reasons for their ways, for the report. Thread safe; two threads that write
// at once may lose the count of a call.
class CallCounts {
 public:
  void wrote(const Choice& choice, const Transfer& transfer) {
    add(expected_direct_ps, choice.expected.direct_ps);
    add(expected_pipeline_ps, choice.expected.pipeline_ps);
    (choice.pipeline ? why_pipeline : why_direct).store(choice.ground);
    add(choice.pipeline ? calls : direct_calls, transfer.goes_on ? 0 : 1);
    if (!choice.pipeline) add(direct_bytes, transfer.bytes);
  }
  void moved_by_library(std::uint64_t bytes) {
    direct_calls.fetch_add(1, std::memory_order_relaxed);
    direct_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  // Of a read by the MPI library or by read().
  void read(std::uint64_t bytes) {
    reads.fetch_add(1, std::memory_order_relaxed);
    read_bytes.fetch_add(bytes, std::memory_order_relaxed);
    moved_by_library(bytes);
  }

  // True once a write of this rank has taken the pipeline.
  bool used_pipeline() const { return calls.load() != 0; }
  // Both counts are needed: the bytes of some calls are unknown, and some bytes belong to a call that began
  // in the pipeline.
  bool any_by_library() const { return direct_calls.load() != 0 || direct_bytes.load() != 0; }

  LastGround why_pipeline, why_direct;      // of writes
  LastGround why_through, why_not_through;  // of reads that the agents may carry
  std::atomic<std::uint64_t> calls{0};      // through the pipeline
  std::atomic<std::uint64_t> direct_calls{0};
  std::atomic<std::uint64_t> direct_bytes{0};
  std::atomic<std::uint64_t> reads{0};  // of the direct calls
  std::atomic<std::uint64_t> read_bytes{0};
  std::atomic<std::uint64_t> expected_direct_ps{0};  // of all transfers, if all had gone this way
  std::atomic<std::uint64_t> expected_pipeline_ps{0};
  std::atomic<std::uint64_t> flushes{0};

 private:
  static void add(std::atomic<std::uint64_t>& sum, std::uint64_t more) {
    sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
};

}  // namespace millrace::client
