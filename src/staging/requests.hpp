// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "staging/memory_range.hpp"
#include "staging/pool.hpp"
#include "staging/worker.hpp"

namespace millrace::staging {

struct RequestOptions {
  unsigned workers = 4;               // the most requests that move at the same time
  std::size_t contexts_max = 1024;    // the most contexts
  std::uint64_t timeout_ms = 60'000;  // fini() waits this long for a request under way
  const EndCalls* calls = &libc_calls;
  // Finds the device of memory for which a call has failed with EFAULT. Returns null if no device owns the
  // memory. The pointer itself may be null.
  Device* (*device_of)(const void* pointer) = nullptr;
};

// Asynchronous reads and writes, like the vendor's: a context has one request at a time, and requests of
// different contexts have no order. The pieces of a request move in order, and a short piece is the last. The
// result of a request is the number of bytes before an error. Thread safe.
//
//   init -> context -> write -> query ... -> wait -> write -> wait -> fini
class AsyncRequests {
 public:
  enum class ContextId : std::uint64_t {};

  // Worker threads start with the first request. The pool outlives this object.
  AsyncRequests(Pool& pool, const RequestOptions& options) : pool_(pool), options_(options) {}
  // Waits for requests under way, and drops requests that wait for a worker.
  ~AsyncRequests();

  Result<ContextId> init();
  // Code::invalid if the context does not exist, or if wait() has not returned its last request. The caller
  // keeps the descriptor open and does not touch the memory until wait() has returned.
  Status read(ContextId context, int fd, std::uint64_t offset, const MemoryRange& to);
  Status write(ContextId context, int fd, std::uint64_t offset, const MemoryRange& from);
  // True if the request has ended, so that wait() returns at once.
  Result<bool> query(ContextId context) const;
  // The same, but waits up to `timeout_ms` for the end.
  Result<bool> over_within(ContextId context, std::uint64_t timeout_ms);
  // Returns the request's outcome, once. The wait has no bound.
  Moved wait(ContextId context);
  // Ends a context. Drops a request that waits for a worker, and waits for a request under way. If the bound
  // passes, returns Code::timeout and keeps the context.
  Status fini(ContextId context);

 private:
  enum class State : std::uint8_t { free, queued, moving, over };
  struct ContextRequest {
    State state = State::free;
    bool reads = false;
    int fd = -1;
    std::uint64_t offset = 0;
    MemoryRange range;
    Moved moved;
  };

  Status submit(ContextId context, const ContextRequest& request);
  Status start_workers();
  bool is(ContextId context, State state) const;
  bool settled(ContextId context) const;
  void work();
  Moved carry_out(const ContextRequest& request) const;
  Moved move_part(const ContextRequest& request) const;
  Moved move_host(const ContextRequest& request) const;

  Pool& pool_;
  const RequestOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable some_queued_;
  std::condition_variable some_over_;
  std::map<ContextId, ContextRequest> requests_;  // guarded by mutex_
  std::deque<ContextId> queue_;                   // guarded by mutex_
  std::uint64_t last_ = 0;                        // guarded by mutex_
  bool stop_ = false;                             // guarded by mutex_
  std::vector<std::unique_ptr<Worker>> workers_;  // guarded by mutex_
};

}  // namespace millrace::staging
