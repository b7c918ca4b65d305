// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/pipeline/sweep.hpp"

#include <algorithm>
#include <utility>

namespace millrace::agent {

std::uint64_t Sweep::lowest_held() const { return std::min(sort_.lowest(next_), journal_.lowest(next_)); }

std::uint64_t Sweep::lowest_left() const {
  const std::uint64_t lowest = active_ ? lowest_held() : UINT64_MAX;
  return lowest == UINT64_MAX ? UINT64_MAX : lowest << shared_.pool->chunk_shift();
}

void Sweep::to(std::uint64_t end) {
  if (!std::exchange(active_, true)) {
    next_ = end_ = 0;
    whole_ = false;
    moved_ns_ = shared_.now_ns;
    departures_.begin_sweep();
  }
  if (whole_) return;
  if (end == UINT64_MAX) {
    // The end is fixed here: otherwise a rank that writes without a pause would keep all others waiting.
    whole_ = true;
    end_ = std::max({end_, sort_.end(), journal_.end()});
    moved_ns_ = shared_.now_ns;
  } else if (end >> shared_.pool->chunk_shift() > end_) {
    end_ = end >> shared_.pool->chunk_shift();
    moved_ns_ = shared_.now_ns;
  }
  if (advance()) shared_.advance_wanted = true;
}

void Sweep::stop() {
  departures_.end_sweep();
  active_ = false;
}

bool Sweep::advance() {
  bool moved = false;
  while (active_ && lowest_held() < end_) {
    const std::uint64_t index = lowest_held();
    if (journal_.holds(index)) {
      const std::uint64_t begin = index << shared_.pool->chunk_shift();
      journal_.want({begin, begin + shared_.pool->chunk_bytes()});
      break;
    }
    send(sort_.take_at(index));
    moved = true;
  }
  return moved;
}

void Sweep::send(std::uint32_t chunk, std::vector<WaiterId> waiters) {
  next_ = shared_.pool->chunk(chunk).index + 1;
  moved_ns_ = shared_.now_ns;
  departures_.to_outlet_in_order(chunk, std::move(waiters));
}

void Sweep::loaded(std::uint64_t index, std::vector<WaiterId>& waiters) {
  const bool next = active_ && lowest_held() == index;
  const std::uint32_t chunk = sort_.take_at(index);
  auto its = std::exchange(waiters, {});
  if (chunk == LazyPool::none) {  // the journal never had it, and it went to the outlet by itself
    departures_.tell(its);
  } else {
    next ? send(chunk, std::move(its)) : departures_.to_outlet(chunk, std::move(its));
  }
  (void)advance();
}

void Sweep::say_mark() {
  if (!active_ || departures_.sweeping() > 0) return;
  const std::uint64_t end = whole_ ? UINT64_MAX : end_ << shared_.pool->chunk_shift();
  departures_.mark(std::min(end, lowest_left()));
}

}  // namespace millrace::agent
