// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "plain/early.hpp"

#include <cerrno>

namespace millrace::plain {
namespace {

// A process that has synced a file is expected to sync again before it has written this many times as many
// bytes.
constexpr std::uint64_t patience = 4;

}  // namespace

bool EarlyWriteback::on() const { return !off() && learned_.load(std::memory_order_relaxed); }

EarlyWriteback::Slot& EarlyWriteback::slot_of(int fd) {
  for (Slot& slot : slots_) {
    if (slot.fd == fd) return slot;
  }
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots;
  slot = {fd, 0, 0, 0};
  return slot;
}

void EarlyWriteback::wrote(const Calls& calls, int fd, off_t begin, std::size_t bytes) {
  if (notes_ != nullptr) {
    notes_->wrote(fd, bytes);
    if (on()) notes_->offered(fd, bytes);
  }
  if (off()) return;
  if (busy_.exchange(true, std::memory_order_acquire))
    return;  // another thread is inside: missing advice does no harm
  Slot& slot = slot_of(fd);
  slot.written_bytes += bytes;
  std::uint64_t from = 0, to = 0;
  if (begin >= 0 && on()) {
    const auto at = static_cast<std::uint64_t>(begin);
    if (at != slot.end) slot.begin = at;
    slot.end = at + bytes;
    if (slot.end - slot.begin >= step_bytes) {
      from = slot.begin;
      to = slot.begin = slot.end;
    }
  }
  busy_.store(false, std::memory_order_release);
  if (to == from) return;
  if (notes_ != nullptr) notes_->went_early(fd, to - from);
  const std::uint64_t left = budget_bytes_.load(std::memory_order_relaxed);
  if (left < to - from) learned_.store(false, std::memory_order_relaxed);
  budget_bytes_.store(left - (left < to - from ? left : to - from), std::memory_order_relaxed);
  const int error = errno;
  (void)calls.start_writeback(fd, static_cast<off_t>(from), static_cast<off_t>(to - from));
  errno = error;
}

void EarlyWriteback::synced(int fd) {
  if (busy_.exchange(true, std::memory_order_acquire)) return;
  std::uint64_t bytes = 0;
  for (Slot& slot : slots_) {
    if (slot.fd != fd) continue;
    bytes = slot.written_bytes;
    slot = {};
  }
  busy_.store(false, std::memory_order_release);
  if (bytes < teaching_bytes) return;
  const std::uint64_t known = budget_bytes_.load(std::memory_order_relaxed);
  if (known < patience * bytes) budget_bytes_.store(patience * bytes, std::memory_order_relaxed);
  learned_.store(true, std::memory_order_relaxed);
}

}  // namespace millrace::plain
