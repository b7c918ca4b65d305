// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "outbox.hpp"

#include <utility>

namespace millrace::model {

namespace {

constexpr std::uint64_t header_bytes = 16;  // of a record: offset and length

}  // namespace

Outbox::Outbox(io::Timeline& timeline, const PipelinePlan& plan)
    : timeline_(timeline),
      plan_(plan),
      link_(timeline, {.bytes_per_second = plan.link.bytes_per_second, .piece_ns = plan.link.piece_ns}) {}

void Outbox::send_to(Inbox& next) {
  next_ = &next;
  next.on_room = [this] { pump(); };
}

void Outbox::put(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) bytes_ += piece.bytes;
  waiting_.insert(waiting_.end(), pieces.begin(), pieces.end());
}

void Outbox::pump() {
  if (sending_) return;
  if (waiting_.empty()) {
    if (over_ && !std::exchange(ended_, true))
      timeline_.after(plan_.link.latency_ns, [this] { next_->end(); });
    return;
  }
  if (!next_->has_room()) return;
  std::vector<Piece> pieces;
  std::uint64_t bytes = 0;
  while (!waiting_.empty() && bytes < plan_.client.grain) {
    bytes += waiting_.front().bytes;
    pieces.push_back(waiting_.front());
    waiting_.pop_front();
  }
  sending_ = true;
  next_->announce(pieces);
  const std::uint64_t until = link_.serve(bytes + pieces.size() * header_bytes, 0);
  timeline_.at(until, [this, bytes, pieces = std::move(pieces)]() mutable {
    sending_ = false;
    bytes_ -= bytes;
    timeline_.after(plan_.link.latency_ns,
                    [this, pieces = std::move(pieces)]() mutable { next_->deliver(std::move(pieces)); });
    pump();
    on_sent();
  });
}

}  // namespace millrace::model
