// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/queue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace millrace::capi {

CommandQueue::~CommandQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  some_waiting_.notify_all();
  worker_.join();
}

template <class Condition>
bool CommandQueue::wait_for(std::unique_lock<std::mutex>& lock, const std::uint64_t* timeout_ms,
                            const Condition& condition) {
  constexpr std::uint64_t longest_ms = std::uint64_t{1000} * 3600 * 24 * 365;
  if (timeout_ms == nullptr) {
    some_over_.wait(lock, condition);
    return true;
  }
  return some_over_.wait_for(lock, std::chrono::milliseconds(std::min(*timeout_ms, longest_ms)), condition);
}

Result<CommandQueue::Ticket> CommandQueue::submit(Command command) {
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return Code::invalid;
    if (tickets_.size() >= tickets_max) return Status(Code::no_memory, EAGAIN);
    if (!started_) {
      if (const Status status = worker_.start([this] { work(); }); !status.ok()) return status;
      started_ = true;
    }
    ticket = ++last_;
    tickets_.emplace(ticket, Ticketed{});
    waiting_.push_back({ticket, std::move(command)});
  }
  some_waiting_.notify_one();
  return ticket;
}

void CommandQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    some_waiting_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
    if (stop_) return;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    runs_ = true;
    lock.unlock();
    Result<std::uint64_t> result = next.command();
    next.command = nullptr;  // frees the objects that the command keeps
    lock.lock();
    runs_ = false;
    tickets_[next.ticket] = {true, result};
    some_over_.notify_all();
  }
}

Result<bool> CommandQueue::done(Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return Code::invalid;
  return found->second.over;
}

std::optional<Result<std::uint64_t>> CommandQueue::wait(Ticket ticket, const std::uint64_t* timeout_ms) {
  std::unique_lock lock(mutex_);
  // The ticket is looked up each time, because another thread may wait for it too, or close the queue.
  const auto over = [&] {
    const auto found = tickets_.find(ticket);
    return found == tickets_.end() || found->second.over;
  };
  if (!wait_for(lock, timeout_ms, over)) return std::nullopt;
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return Result<std::uint64_t>(Code::invalid);
  Result<std::uint64_t> result = found->second.result;
  tickets_.erase(found);
  return result;
}

bool CommandQueue::sync(const std::uint64_t* timeout_ms) {
  std::unique_lock lock(mutex_);
  return wait_for(lock, timeout_ms, [this] { return waiting_.empty() && !runs_; });
}

bool CommandQueue::close(std::uint64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  for (const Waiting& one : waiting_) tickets_.erase(one.ticket);
  waiting_.clear();
  some_over_.notify_all();
  if (!wait_for(lock, &timeout_ms, [this] { return !runs_; })) return false;
  stop_ = true;
  tickets_.clear();
  some_over_.notify_all();
  return true;
}

}  // namespace millrace::capi
