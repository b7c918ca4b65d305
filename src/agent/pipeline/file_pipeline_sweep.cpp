// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The part of FilePipeline that leaves in file order while agents upstream still send (ADR 16).
#include <algorithm>

#include "agent/pipeline/file_pipeline.hpp"

namespace millrace::agent {

std::uint64_t FilePipeline::lowest_held() const {
  const std::uint64_t here = sort_.lowest(sweep_->next);
  return overflow_ ? std::min(here, overflow_->lowest(sweep_->next)) : here;
}

std::uint64_t FilePipeline::lowest_unswept() const {
  const std::uint64_t lowest = sweep_ ? lowest_held() : UINT64_MAX;
  return lowest == UINT64_MAX ? UINT64_MAX : lowest << shared_.pool->chunk_shift();
}

void FilePipeline::sweep(std::uint64_t end) {
  if (!sweep_) sweep_ = Sweep{.moved_ns = shared_.now_ns};
  if (sweep_->whole) return;
  if (end == UINT64_MAX) {
    // Not what comes beyond, or who writes on and on would keep all others waiting.
    sweep_->whole = true;
    sweep_->end = std::max({sweep_->end, sort_.end(), overflow_ ? overflow_->end() : 0});
    sweep_->moved_ns = shared_.now_ns;
  } else if (end >> shared_.pool->chunk_shift() > sweep_->end) {
    sweep_->end = end >> shared_.pool->chunk_shift();
    sweep_->moved_ns = shared_.now_ns;
  }
  if (advance_sweep()) shared_.advance_wanted = true;
}

void FilePipeline::end_sweep() {
  for (const auto departure : to_hand_) departure->swept = false;
  sweep_.reset();
}

// Up to a chunk that is in the journal and has to come back first.
bool FilePipeline::advance_sweep() {
  bool moved = false;
  while (sweep_ && lowest_held() < sweep_->end) {
    const std::uint64_t index = lowest_held();
    if (overflow_ && overflow_->holds(index)) {
      const std::uint64_t begin = index << shared_.pool->chunk_shift();
      overflow_->want({begin, begin + shared_.pool->chunk_bytes()});
      break;
    }
    sweep_out(sort_.take_at(index));
    moved = true;
  }
  return moved;
}

FilePipeline::Departures::iterator FilePipeline::sweep_out(std::uint32_t chunk) {
  sweep_->next = shared_.pool->chunk(chunk).index + 1;
  sweep_->moved_ns = shared_.now_ns;
  ++sweep_->to_hand;
  const auto departure = leave(chunk, to_hand_);
  departure->swept = true;
  return departure;
}

void FilePipeline::handed_over(const Departure& departure) {
  if (!departure.swept) return;
  --sweep_->to_hand;
  say_mark(departure.place.end);
}

void FilePipeline::say_mark(std::uint64_t offset) {
  if (offset <= sweep_->marked || !outlet_->carries()) return;
  sweep_->marked = offset;
  outlet_->mark(offset);
  put_since_flush_ = true;
}

// How far the next agent may go, now that nothing waits to be handed over.
void FilePipeline::say_last_mark() {
  if (!sweep_ || sweep_->to_hand > 0) return;
  const std::uint64_t end = sweep_->whole ? UINT64_MAX : sweep_->end << shared_.pool->chunk_shift();
  say_mark(std::min(end, lowest_unswept()));
}

}  // namespace millrace::agent
