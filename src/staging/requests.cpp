// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/requests.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace millrace::staging {

AsyncRequests::~AsyncRequests() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  some_queued_.notify_all();
  for (const auto& worker : workers_) worker->join();
}

Result<AsyncRequests::ContextId> AsyncRequests::init() {
  const std::lock_guard lock(mutex_);
  if (requests_.size() >= options_.contexts_max) return Status(Code::no_memory, EAGAIN);
  const ContextId context{++last_};
  requests_.emplace(context, ContextRequest{});
  return context;
}

Status AsyncRequests::read(ContextId context, int fd, std::uint64_t offset, const MemoryRange& to) {
  return submit(context, {State::queued, true, fd, offset, to, {}});
}

Status AsyncRequests::write(ContextId context, int fd, std::uint64_t offset, const MemoryRange& from) {
  return submit(context, {State::queued, false, fd, offset, from, {}});
}

Status AsyncRequests::submit(ContextId context, const ContextRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = requests_.find(context);
    if (found == requests_.end() || found->second.state != State::free) return Code::invalid;
    if (const Status status = start_workers(); !status.ok()) return status;
    found->second = request;
    queue_.push_back(context);
  }
  some_queued_.notify_one();
  return {};
}

// Call it with mutex_ held. Succeeds if at least one worker runs.
Status AsyncRequests::start_workers() {
  while (workers_.size() < std::max(options_.workers, 1U)) {
    auto worker = std::make_unique<Worker>();
    const Status status = worker->start([this] { work(); });
    if (!status.ok()) return workers_.empty() ? status : Status();
    workers_.push_back(std::move(worker));
  }
  return {};
}

void AsyncRequests::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    some_queued_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const ContextId context = queue_.front();
    queue_.pop_front();
    ContextRequest& request = requests_.at(context);  // fini() does not remove a request under way
    request.state = State::moving;
    const ContextRequest copy = request;
    lock.unlock();
    const Moved moved = carry_out(copy);
    lock.lock();
    request.moved = moved;
    request.state = State::over;
    some_over_.notify_all();
  }
}

// Moves the request in parts that a single call can move. A short part is the last.
Moved AsyncRequests::carry_out(const ContextRequest& request) const {
  ContextRequest part = request;
  Moved moved;
  do {
    part.range.at = request.range.at + moved.bytes;
    part.range.bytes = std::min(request.range.bytes - moved.bytes, request_max);
    part.offset = request.offset + moved.bytes;
    Moved some = move_part(part);
    if (moved.bytes + some.bytes == 0 && some.status.error() == EFAULT && part.range.device == nullptr &&
        options_.device_of != nullptr) {
      part.range.device = options_.device_of(part.range.here());
      if (part.range.device != nullptr) some = move_part(part);
    }
    moved.bytes += some.bytes;
    moved.status = some.status;
    if (!some.status.ok() || some.bytes < part.range.bytes) break;
  } while (moved.bytes < request.range.bytes);
  return moved;
}

Moved AsyncRequests::move_part(const ContextRequest& request) const {
  const MemoryRange& range = request.range;
  if (range.device == nullptr) return move_host(request);
  FileEnd end(request.fd, request.offset, *options_.calls);
  return request.reads ? pool_.read(*range.device, end, range.at, range.bytes)
                       : pool_.write(*range.device, range.at, range.bytes, end);
}

// The program's own memory needs no staging. It is cut into pieces too, and a short piece is the last.
Moved AsyncRequests::move_host(const ContextRequest& request) const {
  constexpr std::uint64_t piece_bytes = 4 * MiB;
  FileEnd end(request.fd, request.offset, *options_.calls);
  std::byte* memory = request.range.here();
  const std::uint64_t bytes = request.range.bytes;
  Moved moved;
  while (moved.bytes < bytes) {
    const std::size_t size = std::min(piece_bytes, bytes - moved.bytes);
    const std::span<std::byte> piece(memory + moved.bytes, size);
    const ssize_t some = request.reads ? end.read(piece) : end.write(piece);
    if (some < 0) moved.status = Status::from_errno(static_cast<int>(-some));
    moved.bytes += static_cast<std::uint64_t>(std::max<ssize_t>(some, 0));
    if (some < static_cast<ssize_t>(size)) break;
  }
  return moved;
}

Result<bool> AsyncRequests::query(ContextId context) const {
  const std::lock_guard lock(mutex_);
  const auto found = requests_.find(context);
  if (found == requests_.end() || found->second.state == State::free) return Code::invalid;
  return found->second.state == State::over;
}

Result<bool> AsyncRequests::over_within(ContextId context, std::uint64_t timeout_ms) {
  constexpr std::uint64_t longest_ms = std::uint64_t{1000} * 3600 * 24 * 365;
  const std::chrono::milliseconds bound(std::min(timeout_ms, longest_ms));
  std::unique_lock lock(mutex_);
  if (is(context, State::free)) return Code::invalid;
  const bool over = some_over_.wait_for(lock, bound, [&] { return settled(context); });
  if (is(context, State::free)) return Code::invalid;
  return over;
}

Moved AsyncRequests::wait(ContextId context) {
  std::unique_lock lock(mutex_);
  if (!is(context, State::free)) some_over_.wait(lock, [&] { return settled(context); });
  if (is(context, State::free)) return {0, Status(Code::invalid, EINVAL)};
  ContextRequest& request = requests_.at(context);
  request.state = State::free;
  return request.moved;
}

// Call it with mutex_ held. Looks the context up each time, because another thread may end it. A context that
// does not exist counts as free.
bool AsyncRequests::is(ContextId context, State state) const {
  const auto found = requests_.find(context);
  return (found == requests_.end() ? State::free : found->second.state) == state;
}

bool AsyncRequests::settled(ContextId context) const {
  return is(context, State::over) || is(context, State::free);
}

Status AsyncRequests::fini(ContextId context) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  std::unique_lock lock(mutex_);
  std::erase(queue_, context);
  if (!some_over_.wait_until(lock, until, [&] { return !is(context, State::moving); }))
    return {Code::timeout, ETIMEDOUT};
  const bool was_there = requests_.erase(context) == 1;
  some_over_.notify_all();
  return was_there ? Status() : Status(Code::invalid);
}

}  // namespace millrace::staging
