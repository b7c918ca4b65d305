// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/copy_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace millrace::staging {

namespace {

enum class State : std::uint8_t { waits, runs, over };

struct Job {
  CopyTicket ticket;
  CopyDirection direction;
  Address device;
  std::span<std::byte> host;
  State state = State::waits;
  Status status = {};
};

class CopyQueue final : public Queue {
 public:
  CopyQueue(const CopyOptions& options, SimulatedLink& link, CopyFunction copy)
      : options_(options), link_(link), copy_(std::move(copy)) {}
  ~CopyQueue() override;

  Status start() {
    return options_.asynchronous ? worker_.start([this] { work(); }) : Status();
  }
  Status mark() override { return {}; }
  Status settle() override { return {}; }  // programs cannot enqueue work on these devices
  Result<CopyTicket> post(CopyDirection direction, Address device, std::span<std::byte> host) override;
  Result<bool> poll(CopyTicket ticket) override;
  Status wait(CopyTicket ticket) override;

 private:
  Job* find(CopyTicket ticket);
  Status forget(CopyTicket ticket);
  Status carry_out(const Job& job);
  void work();

  const CopyOptions options_;
  SimulatedLink& link_;
  const CopyFunction copy_;
  std::mutex mutex_;
  std::condition_variable some_work_;
  std::condition_variable some_over_;
  std::deque<Job> jobs_;  // guarded by mutex_
  CopyTicket last_ = 0;   // guarded by mutex_
  bool stop_ = false;     // guarded by mutex_
  Worker worker_;
};

CopyQueue::~CopyQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  some_work_.notify_all();
  worker_.join();
}

Job* CopyQueue::find(CopyTicket ticket) {
  const auto job = std::ranges::find(jobs_, ticket, &Job::ticket);
  return job == jobs_.end() ? nullptr : &*job;
}

Status CopyQueue::forget(CopyTicket ticket) {
  const auto job = std::ranges::find(jobs_, ticket, &Job::ticket);
  const Status status = job->status;
  jobs_.erase(job);
  return status;
}

Result<CopyTicket> CopyQueue::post(CopyDirection direction, Address device, std::span<std::byte> host) {
  std::unique_lock lock(mutex_);
  if (jobs_.size() >= options_.in_flight_max) return Code::invalid;
  Job job{++last_, direction, device, host};
  if (!options_.asynchronous) {
    lock.unlock();  // only this thread uses the queue, so no copy is posted meanwhile
    job.status = carry_out(job);
    job.state = State::over;
    lock.lock();
  }
  jobs_.push_back(job);
  lock.unlock();
  some_work_.notify_one();
  return job.ticket;
}

Result<bool> CopyQueue::poll(CopyTicket ticket) {
  const std::lock_guard lock(mutex_);
  const Job* job = find(ticket);
  if (job == nullptr) return Code::invalid;
  if (job->state != State::over) return false;
  const Status status = forget(ticket);
  if (!status.ok()) return status;
  return true;
}

Status CopyQueue::wait(CopyTicket ticket) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.timeout_ms);
  std::unique_lock lock(mutex_);
  if (find(ticket) == nullptr) return Code::invalid;
  const bool over = some_over_.wait_until(lock, until, [&] { return find(ticket)->state == State::over; });
  return over ? forget(ticket) : Status(Code::timeout, ETIMEDOUT);
}

Status CopyQueue::carry_out(const Job& job) {
  const auto due = link_.due(job.direction, job.host.size());
  const Status status = copy_(job.direction, job.device, job.host);
  if (options_.delays.any()) std::this_thread::sleep_until(due);
  return status;
}

void CopyQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto next = jobs_.end();
    some_work_.wait(lock, [&] {
      next = std::ranges::find(jobs_, State::waits, &Job::state);
      return stop_ || next != jobs_.end();
    });
    if (stop_) return;
    next->state = State::runs;
    const Job job = *next;
    lock.unlock();
    const Status status = carry_out(job);
    lock.lock();
    Job* done = find(job.ticket);
    done->state = State::over;
    done->status = status;
    some_over_.notify_all();
  }
}

}  // namespace

bool Delays::any() const {
  return bytes_per_s[0] > 0 || bytes_per_s[1] > 0 || latency_ns[0] > 0 || latency_ns[1] > 0 || jitter_ns > 0;
}

SimulatedLink::Steady::time_point SimulatedLink::due(CopyDirection direction, std::size_t bytes) {
  const auto way = static_cast<std::size_t>(direction);
  const double rate = delays_.bytes_per_s[way];
  const double seconds = rate > 0 ? static_cast<double>(bytes) / rate : 0;
  const std::lock_guard lock(mutex_);
  const std::uint64_t jitter = delays_.jitter_ns > 0 ? dice_() % (delays_.jitter_ns + 1) : 0;
  Steady::time_point& free_at = free_at_[way];
  free_at = std::max(free_at, Steady::now()) +
            std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(seconds));
  return free_at + std::chrono::nanoseconds(delays_.latency_ns[way] + jitter);
}

Result<std::unique_ptr<Queue>> open_copy_queue(const CopyOptions& options, SimulatedLink& link,
                                               CopyFunction copy) {
  auto queue = std::make_unique<CopyQueue>(options, link, std::move(copy));
  if (const Status status = queue->start(); !status.ok()) return status;
  return std::unique_ptr<Queue>(std::move(queue));
}

}  // namespace millrace::staging
