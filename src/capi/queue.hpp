// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "capi/device.hpp"
#include "capi/handles.hpp"
#include "millrace/millrace.h"
#include "staging/worker.hpp"

namespace millrace::capi {

// Runs commands one after the other in a thread. The first command starts the thread. Thread safe.
class CommandQueue {
 public:
  using Handle = millrace_queue;
  static constexpr HandleKind kind = HandleKind::queue;
  using Ticket = std::uint64_t;
  // A command returns the result that wait() passes to the program.
  using Command = std::function<Result<std::uint64_t>()>;

  explicit CommandQueue(std::shared_ptr<OpenDevice> device) : device_(std::move(device)) {}
  ~CommandQueue();
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;

  const std::shared_ptr<OpenDevice>& device() const { return device_; }

  // EAGAIN: too many tickets have not been waited for.
  Result<Ticket> submit(Command command);
  // True if the command has ended. Code::invalid: there is no such ticket.
  Result<bool> done(Ticket ticket) const;
  // Waits for the result and takes it; a second wait finds no ticket. A null timeout is no bound. Empty: the
  // time ran out, and the command goes on. Code::invalid: there is no such ticket.
  std::optional<Result<std::uint64_t>> wait(Ticket ticket, const std::uint64_t* timeout_ms);
  // Waits until no command waits or runs. False: the time ran out.
  bool sync(const std::uint64_t* timeout_ms);
  // Drops the commands that have not begun, and waits for the running one. False: that command takes longer,
  // and the queue stays open.
  bool close(std::uint64_t timeout_ms);

 private:
  static constexpr std::size_t tickets_max = 4096;
  struct Waiting {
    Ticket ticket;
    Command command;
  };
  struct Ticketed {
    bool over = false;
    Result<std::uint64_t> result{std::uint64_t{0}};
  };
  template <class Condition>
  bool wait_for(std::unique_lock<std::mutex>& lock, const std::uint64_t* timeout_ms,
                const Condition& condition);
  void work();

  const std::shared_ptr<OpenDevice> device_;
  mutable std::mutex mutex_;
  std::condition_variable some_waiting_;
  std::condition_variable some_over_;
  std::deque<Waiting> waiting_;         // guarded by mutex_
  std::map<Ticket, Ticketed> tickets_;  // guarded by mutex_
  Ticket last_ = 0;                     // guarded by mutex_
  bool runs_ = false;                   // guarded by mutex_: a command runs
  bool started_ = false;                // guarded by mutex_
  bool stop_ = false;                   // guarded by mutex_
  staging::Worker worker_;
};

}  // namespace millrace::capi
