// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/ring.hpp"

#include <algorithm>

namespace millrace::transport {

namespace {

bool valid_ring(std::uint64_t bytes) {
  return bytes >= min_ring_bytes && bytes <= max_ring_bytes && (bytes & (bytes - 1)) == 0;
}

}  // namespace

Result<Producer> Producer::create(std::uint64_t ring_bytes) {
  if (!valid_ring(ring_bytes)) return Code::invalid;
  Result<Fd> memory = make_memory("millrace-ring", header_bytes + ring_bytes);
  if (!memory) return memory.status();
  Result<Mapping> header = map(memory->get(), header_bytes);
  if (!header) return header.status();
  Result<Mapping> ring = map_ring(memory->get(), header_bytes, ring_bytes);
  if (!ring) return ring.status();
  Producer producer;
  producer.memory_ = *std::move(memory);
  producer.header_ = *std::move(header);
  producer.ring_ = *std::move(ring);
  producer.ring_bytes_ = ring_bytes;
  return producer;
}

bool Producer::begin_wait() {
  header().producer_waits.store(1, std::memory_order_seq_cst);
  head_ = header().head.load(std::memory_order_seq_cst);
  if (tail_ - head_ > ring_bytes_ / 2) return true;
  header().producer_waits.store(0, std::memory_order_relaxed);
  return false;
}

void Producer::end_wait() {
  head_ = header().head.load(std::memory_order_acquire);
  header().producer_waits.store(0, std::memory_order_relaxed);
}

Result<Consumer> Consumer::attach(Fd memory, std::uint64_t ring_bytes) {
  if (!valid_ring(ring_bytes) || !is_sealed_memory(memory.get(), header_bytes + ring_bytes))
    return Code::invalid;
  Result<Mapping> header = map(memory.get(), header_bytes);
  if (!header) return header.status();
  Result<Mapping> ring = map_ring(memory.get(), header_bytes, ring_bytes);
  if (!ring) return ring.status();
  Consumer consumer;
  consumer.header_ = *std::move(header);
  consumer.ring_ = *std::move(ring);
  consumer.ring_bytes_ = ring_bytes;
  return consumer;
}

void Consumer::release() {
  offered_ = head_;
  const std::uint64_t end = std::min(head_, keep_);
  if (end != shown_) {
    shown_ = end;
    header().head.store(end, std::memory_order_seq_cst);
  }
  // A waiting producer gets half a ring at a time, so that it is not woken for each record.
  if (header().producer_waits.load(std::memory_order_seq_cst) == 0) return;
  if (header().tail.load(std::memory_order_relaxed) - shown_ > ring_bytes_ / 2) return;
  header().producer_waits.store(0, std::memory_order_seq_cst);
  futex_wake(header().producer_waits);
}

void Consumer::answer(std::uint32_t request, Status status) {
  ReplySlot& slot = header().replies[request % reply_slots];
  slot.code.store(static_cast<std::uint32_t>(status.code()), std::memory_order_relaxed);
  slot.error.store(status.error(), std::memory_order_relaxed);
  slot.done.store(request, std::memory_order_release);
  futex_wake(slot.done);
}

}  // namespace millrace::transport
