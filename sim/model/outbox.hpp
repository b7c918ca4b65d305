// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "io/virtual/station.hpp"
#include "io/virtual/timeline.hpp"
#include "pipeline.hpp"
#include "server.hpp"

namespace millrace::model {

// The records that a node has put out, and its link to the next node or to the server. Owned by the node. Not
// thread safe.
class Outbox {
 public:
  Outbox(io::Timeline& timeline, const PipelinePlan& plan)
      : timeline_(timeline),
        plan_(plan),
        link_(timeline, {.bytes_per_second = plan.link.bytes_per_second, .piece_ns = plan.link.piece_ns}) {}

  void send_to(Inbox& next) {
    next_ = &next;
    next.on_room = [this] { pump(); };
  }
  std::function<void()> on_sent;  // there may be room again

  bool has_room() const { return bytes_ < plan_.link.window; }
  void put(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) bytes_ += piece.bytes;
    waiting_.insert(waiting_.end(), pieces.begin(), pieces.end());
  }
  // No more records follow: the next one is told after the last record.
  void end() { over_ = true; }
  // Sends what the next one has room for.
  void pump() {
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

 private:
  static constexpr std::uint64_t header_bytes = 16;  // of a record: offset and length

  io::Timeline& timeline_;
  const PipelinePlan& plan_;
  io::Station link_;
  Inbox* next_ = nullptr;
  std::deque<Piece> waiting_;
  std::uint64_t bytes_ = 0;  // waiting, or on the link
  bool sending_ = false;
  bool over_ = false;
  bool ended_ = false;  // the next one was told
};

}  // namespace millrace::model
