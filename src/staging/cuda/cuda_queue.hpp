// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "staging/cuda/cuda_device.hpp"

namespace millrace::staging::cuda {

// A stream of its own, for which no other work of the program waits, and an event for each ticket.
//
// The order with the program's kernels is that of cudaMemcpy. mark() records an event on the legacy stream,
// after the work of all streams that are ordered with it. Without such work, no event is needed. The program
// itself waits for work in non-blocking streams, as before cudaMemcpy.
class CudaQueue final : public Queue {
 public:
  static constexpr std::size_t tickets_max = 16;

  explicit CudaQueue(const CudaDevice& device) : device_(device), table_(device.table_) {}
  ~CudaQueue() override;
  Status open();

  Status mark() override;
  Status settle() override;
  Result<Ticket> post(Direction direction, Address device, std::span<std::byte> host) override;
  Result<bool> poll(Ticket ticket) override;
  Status wait(Ticket ticket) override;

 private:
  const CudaDevice& device_;
  const Table& table_;
  Stream stream_ = nullptr;
  Event program_ = nullptr;    // the mark: what the program had enqueued...
  bool has_enqueued_ = false;  // ...if that was anything
  std::array<Event, tickets_max> events_{};
  std::array<Ticket, tickets_max> open_{};  // by event; 0: free
  Ticket last_ = 0;
};

}  // namespace millrace::staging::cuda
