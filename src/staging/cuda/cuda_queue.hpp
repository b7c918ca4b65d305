// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "staging/cuda/cuda_device.hpp"

namespace millrace::staging::cuda {

// The queue has its own stream and an event for each ticket. No work of the program waits for this stream.
//
// A copy comes after the program's kernels, as with cudaMemcpy. mark() records an event on the legacy stream,
// behind the work of all streams that are ordered with it. If there is no such work, mark() records no event.
// The program itself must wait for work in non-blocking streams, as it must before cudaMemcpy.
class CudaQueue final : public Queue {
 public:
  static constexpr std::size_t tickets_max = 16;

  explicit CudaQueue(const CudaDevice& device) : device_(device), table_(device.table_) {}
  ~CudaQueue() override;
  Status open();

  Status mark() override;
  Status settle() override;
  Result<CopyTicket> post(CopyDirection direction, Address device, std::span<std::byte> host) override;
  Result<bool> poll(CopyTicket ticket) override;
  Status wait(CopyTicket ticket) override;

 private:
  const CudaDevice& device_;
  const Table& table_;
  Stream stream_ = nullptr;
  Event program_ = nullptr;    // the event of the last mark()
  bool has_enqueued_ = false;  // the program had enqueued work at the last mark(), so the event was recorded
  std::array<Event, tickets_max> events_{};
  std::array<CopyTicket, tickets_max> open_{};  // the ticket of each event; 0: the event is free
  CopyTicket last_ = 0;
};

}  // namespace millrace::staging::cuda
