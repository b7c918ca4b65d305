// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The part of FilePipeline that strategy journal adds.
#include <algorithm>

#include "agent/pipeline/file_pipeline.hpp"

namespace millrace::agent {

// True if a chunk that leaves for want of memory goes to the journal. Else it goes to the sink: if there can
// be no journal, or if all of it is to come back anyway; but never before an older part of it that is stored.
// While a sweep asks for one chunk after another, what comes after them is stored as before.
// A full journal is noticed there too: it grows by chunks that it holds already as well.
bool FilePipeline::stores(std::uint64_t index) {
  if (!overflow_->wanted() && overflow_->full()) overflow_->want(everything);
  const bool refused = sweep_ ? overflow_->full() : overflow_->wanted();
  if (!overflow_->holds(index) && (refused || !overflow_->prepare().ok())) return false;
  overflow_->announce(index);
  return true;
}

// Chunks with an older part in the journal wait in the buffer until that has come back.
void FilePipeline::depart_stored(Extent extent) {
  overflow_->want(extent);
  indices_.clear();
  sort_.find(extent, indices_);
  for (const std::uint64_t index : indices_) {
    if (!overflow_->holds(index)) leave(sort_.take_at(index), to_hand_);
  }
}

bool FilePipeline::pump_overflow() {
  bool moved = false;
  while (!to_store_.empty()) {
    const auto departure = to_store_.front();
    if (!doomed_ &&
        !overflow_->store(shared_.pool->chunk(departure->chunk), departure->slot, departure->byte)) {
      break;
    }
    to_store_.pop_front();
    finish(departure);
    moved = true;
  }
  std::uint64_t index = 0;
  std::vector<WaiterId> waiters;
  for (;;) {
    const std::uint32_t due = overflow_->blocks_due();
    const std::uint32_t besides = shared_.reserved_blocks + (outlet_->carries() ? shared_.landing_blocks : 0);
    const Overflow::Progress progress = overflow_->pump(to_store_.empty(), besides, index, waiters);
    starved_ = progress == Overflow::Progress::needs_room;
    shared_.reserved_blocks += std::max(due, overflow_->blocks_due()) - due;  // until it is counted anew
    if (progress != Overflow::Progress::loaded) return moved || progress == Overflow::Progress::moved;
    moved = true;
    const bool swept = sweep_ && lowest_held() == index;
    const std::uint32_t id = sort_.take_at(index);
    if (id != LazyPool::none) (swept ? sweep_out(id) : leave(id, to_hand_))->waiters.swap(waiters);
    advance_sweep();
  }
}

}  // namespace millrace::agent
