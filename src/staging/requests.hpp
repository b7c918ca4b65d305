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
  unsigned workers = 4;               // requests that move at the same time
  std::size_t contexts_max = 1024;    // the most requests
  std::uint64_t timeout_ms = 60'000;  // of fini() for a request that is under way
  const Calls* calls = &libc_calls;
  // Finds the device of memory that a call has refused with EFAULT; its result is null if there is none. May
  // be null itself.
  Device* (*device_of)(const void* pointer) = nullptr;
};

// Reads and writes that go on while the caller does. As with the vendor's asynchronous I/O, a context carries
// one request at a time; requests of different contexts are in no order. The pieces of a request move in
// order, and a short piece is the last. The result of a request is the number of bytes before an error.
// Thread safe.
//
//   init -> context -> write -> query ... -> wait -> write -> wait -> fini
class Requests {
 public:
  enum class Context : std::uint64_t {};

  // Workers start with the first request. The pool outlives this.
  Requests(Pool& pool, const RequestOptions& options) : pool_(pool), options_(options) {}
  // Waits for requests that move, and drops those that wait.
  ~Requests();

  Result<Context> init();
  // Code::invalid if the context does not exist, or if wait() has not taken its last request. The caller
  // keeps the descriptor and the memory unchanged until wait() has returned.
  Status read(Context context, int fd, std::uint64_t offset, const MemoryRange& to);
  Status write(Context context, int fd, std::uint64_t offset, const MemoryRange& from);
  // True if wait() would return at once.
  Result<bool> query(Context context) const;
  // The same, but waits for it, `timeout_ms` at most.
  Result<bool> over_within(Context context, std::uint64_t timeout_ms);
  // Returns the request's outcome, once. The wait has no bound.
  Moved wait(Context context);
  // Drops a request that waits for a worker, and waits for one under way. After the bound: Code::timeout, and
  // the context stays.
  Status fini(Context context);

 private:
  enum class State : std::uint8_t { free, queued, moving, over };
  struct Request {
    State state = State::free;
    bool reads = false;
    int fd = -1;
    std::uint64_t offset = 0;
    MemoryRange range;
    Moved moved;
  };

  Status submit(Context context, const Request& request);
  Status start_workers();
  bool is(Context context, State state) const;
  bool settled(Context context) const;
  void work();
  Moved carry_out(const Request& request) const;
  Moved move_part(const Request& request) const;
  Moved move_host(const Request& request) const;

  Pool& pool_;
  const RequestOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable some_queued_;
  std::condition_variable some_over_;
  std::map<Context, Request> requests_;           // guarded by mutex_
  std::deque<Context> queue_;                     // guarded by mutex_
  std::uint64_t last_ = 0;                        // guarded by mutex_
  bool stop_ = false;                             // guarded by mutex_
  std::vector<std::unique_ptr<Worker>> workers_;  // guarded by mutex_
};

}  // namespace millrace::staging
