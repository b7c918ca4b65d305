// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "staging/cuda/cuda_queue.hpp"

#include <cerrno>
#include <chrono>
#include <thread>

#include "staging/cuda/current.hpp"

namespace millrace::staging::cuda {

namespace {

using Steady = std::chrono::steady_clock;
// A sleeping thread wakes about 70 us late. So a thread first polls for ten times as long: a copy that takes
// less loses nothing.
constexpr auto spin = std::chrono::microseconds(700);
constexpr auto pause = std::chrono::microseconds(50);

}  // namespace

Status CudaQueue::open() {
  const Current current(table_, device_.context_);
  Error error = current.error();
  if (error == success) error = table_.cuStreamCreate(&stream_, stream_non_blocking);
  if (error == success) error = table_.cuEventCreate(&program_, event_blocking_sync | event_disable_timing);
  // No thread sleeps in the driver until a copy ends. Such a sleep needs an interrupt for each event, which
  // takes up to 46% of the rate of small copies (docs/results/device.md).
  for (Event& event : events_) {
    if (error == success) error = table_.cuEventCreate(&event, event_disable_timing);
  }
  return device_.check(error);
}

CudaQueue::~CudaQueue() {
  const Current current(table_, device_.context_);
  if (!current.ok()) return;  // the stream and the events ended with their context
  for (Event event : events_) {
    if (event != nullptr) table_.cuEventDestroy_v2(event);
  }
  if (program_ != nullptr) table_.cuEventDestroy_v2(program_);
  if (stream_ != nullptr) table_.cuStreamDestroy_v2(stream_);
}

Status CudaQueue::mark() {
  const Current current(table_, device_.context_);
  if (!current.ok()) return device_.check(current.error());
  // Records an event only if there is work. An event is work for the GPU, and waits for this process's turn
  // if several processes share the GPU.
  Error error = table_.cuStreamQuery(legacy_stream());
  has_enqueued_ = error == not_ready;
  if (has_enqueued_) error = table_.cuEventRecord(program_, legacy_stream());
  return device_.check(error);
}

Status CudaQueue::settle() {
  if (!has_enqueued_) return {};
  const Current current(table_, device_.context_);
  if (!current.ok()) return device_.check(current.error());
  const Steady::time_point begin = Steady::now();
  do {
    const Error error = table_.cuEventQuery(program_);
    if (error != not_ready) return device_.check(error);
    std::this_thread::yield();
  } while (Steady::now() - begin < spin);
  return device_.check(table_.cuEventSynchronize(program_));
}

Result<CopyTicket> CudaQueue::post(CopyDirection direction, Address device, std::span<std::byte> host) {
  const std::size_t index = (last_ + 1) % tickets_max;
  if (open_[index] != 0) return Code::invalid;
  const Current current(table_, device_.context_);
  if (!current.ok()) return device_.check(current.error());
  const auto pointer = static_cast<Pointer>(device);
  Error error = direction == CopyDirection::to_host
                    ? table_.cuMemcpyDtoHAsync_v2(host.data(), pointer, host.size(), stream_)
                    : table_.cuMemcpyHtoDAsync_v2(pointer, host.data(), host.size(), stream_);
  if (error != success) return device_.check(error);
  error = table_.cuEventRecord(events_[index], stream_);
  if (error != success) {
    // Without an event, nothing can report the end of the copy later. So post() waits for the copy.
    table_.cuStreamSynchronize(stream_);
    return device_.check(error);
  }
  open_[index] = ++last_;
  return last_;
}

Result<bool> CudaQueue::poll(CopyTicket ticket) {
  const std::size_t index = ticket % tickets_max;
  if (ticket == 0 || open_[index] != ticket) return Code::invalid;
  const Current current(table_, device_.context_);
  if (!current.ok()) {
    // If the context is lost, the copy is over. Otherwise its state is unknown, and the copy counts as under
    // way until wait() reaches its bound.
    const Status status = device_.check(current.error());
    if (!device_.lost()) return false;
    open_[index] = 0;
    return status;
  }
  const Error error = table_.cuEventQuery(events_[index]);
  if (error == not_ready) return false;
  open_[index] = 0;
  if (error == success) return true;
  // The error may belong to another call. So the copy may still be under way, and must end first.
  table_.cuStreamSynchronize(stream_);
  return device_.check(error);
}

Status CudaQueue::wait(CopyTicket ticket) {
  // wait() polls, because the driver's own wait has no bound.
  const Steady::time_point begin = Steady::now();
  const auto bound = std::chrono::milliseconds(device_.options_.timeout_ms);
  for (;;) {
    const Result<bool> over = poll(ticket);
    if (!over) return over.status();
    if (*over) return {};
    const auto waited = Steady::now() - begin;
    if (waited > bound) return {Code::timeout, ETIMEDOUT};
    if (waited < spin) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace millrace::staging::cuda
