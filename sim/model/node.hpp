// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "io/virtual/timeline.hpp"
#include "outbox.hpp"
#include "pipeline.hpp"
#include "server.hpp"
#include "sort_buffer.hpp"

namespace millrace::model {

// A node: its ranks and its one client process. The ranks wait for the end of each call. The client takes
// their records and those of the node before:
//
//   ranks ----> [client: sort buffer, journal] -> | out | -> [link] -> the next node, or the server
//   upstream -> |
class Node final : public Inbox {
 public:
  Node(io::Timeline& timeline, const PipelinePlan& plan, PipelineResult& result, std::uint32_t number)
      : timeline_(timeline),
        plan_(plan),
        result_(result),
        buffer_(plan.sort_buffer, plan.record_max, plan.merge),
        out_(timeline, plan) {
    out_.on_sent = [this] { turn(); };
    const std::uint32_t ranks = plan.nodes * plan.ranks_per_node;
    for (std::uint32_t rank = 0; rank < plan.ranks_per_node; ++rank)
      ranks_.push_back({Writes(plan.pattern, number * plan.ranks_per_node + rank, ranks), std::nullopt});
  }

  void send_to(Inbox& next) { out_.send_to(next); }
  std::function<void()> on_output_complete;  // all ranks here have written this output
  void begin_output() {
    for (Rank& rank : ranks_) rank.rest = rank.writes.next();
    writing_ranks_ = ranks_.size();
    told_ = false;
    turn();
  }
  // after the last one: close
  void next_output() {
    for (Rank& rank : ranks_) rank.writes.next_output();
    closed_ = ranks_.front().writes.over();
    turn();
  }
  bool closed() const { return closed_; }

  bool has_room() const override { return in_bytes_ < plan_.link.window; }
  void announce(const std::vector<Piece>& pieces) override {
    for (const Piece& piece : pieces) in_bytes_ += piece.bytes;
  }
  void deliver(std::vector<Piece> pieces) override {
    in_.insert(in_.end(), pieces.begin(), pieces.end());
    turn();
  }
  void end() override {
    upstream_over_ = true;
    turn();
  }

 private:
  struct Rank {
    Writes writes;
    std::optional<Piece> rest;  // of its call
    bool begun = false;         // the client has taken a part of it
  };
  struct Turn {
    bool worked = false;
    std::uint64_t cost_ps = 0;
    std::uint64_t in_bytes = 0;  // from upstream: room there
    std::vector<Piece> out;
    std::uint64_t out_bytes = 0;
  };

  // One wake-up of the client process: takes some records from its ranks or from upstream. After the close it
  // takes them in the order of the file.
  void turn() {
    if (busy_ || over_ || !out_.has_room()) return;
    Turn turn;
    if (closed_) {
      drain(turn);
    } else {
      if (!in_message_ && !(round_over_ && !in_.empty())) take_own(turn);
      if (!turn.worked) take_upstream(turn, writing_ranks_ > 0 ? 1 : plan_.client.grain);
      if (turn.in_bytes > 0 && !in_message_) round_over_ = false;
    }
    if (!turn.worked) return;
    busy_ = true;
    const std::uint64_t cost_ns = turn.cost_ps / 1000;
    timeline_.after(cost_ns, [this, turn = std::move(turn)] { finish(turn); });
  }
  void finish(const Turn& turn) {
    busy_ = false;
    out_.put(turn.out);
    in_bytes_ -= turn.in_bytes;
    if (turn.in_bytes > 0 && on_room) on_room();
    if (over_) out_.end();
    out_.pump();
    if (writing_ranks_ == 0 && !std::exchange(told_, true)) on_output_complete();
    this->turn();
  }
  // Takes turns as a loop over select() does: one call of each rank that has one, then a record from
  // upstream, and so on.
  void take_own(Turn& turn) {
    std::uint64_t room = plan_.client.grain;
    for (std::size_t tried = 0; tried < ranks_.size() && room > 0; ++tried) {
      Rank& rank = ranks_[at_rank_];
      if (rank.rest) room -= take_call(turn, rank, room);
      if (rank.begun) return;  // goes on in the next turn, before others
      at_rank_ = (at_rank_ + 1) % ranks_.size();
      if (at_rank_ == 0) {
        round_over_ = true;
        return;
      }
    }
  }
  // Takes the part of a rank's call that fits, cut into records. The call returns when all of it was taken.
  std::uint64_t take_call(Turn& turn, Rank& rank, std::uint64_t room) {
    turn.worked = true;
    if (!std::exchange(rank.begun, true)) turn.cost_ps += plan_.client.request_ns * 1000;
    std::uint64_t taken = 0;
    Piece& rest = *rank.rest;
    while (rest.bytes > 0 && taken < room) {
      const std::uint64_t bytes = std::min(rest.bytes, plan_.record_max);
      const Piece record{rest.offset, bytes, plan_.strategy == Strategy::immediate && bytes < rest.bytes};
      take_in(turn, record);
      rest = {record.end(), rest.bytes - record.bytes};
      taken += record.bytes;
    }
    if (rest.bytes == 0) {
      rank.begun = false;
      rank.rest = rank.writes.next();
      if (!rank.rest) --writing_ranks_;
    }
    return std::min(taken, room);
  }
  void take_upstream(Turn& turn, std::uint64_t bytes) {
    const std::uint64_t before = turn.in_bytes;
    while (!in_.empty() && turn.in_bytes - before < bytes) take_in(turn, next_upstream(turn));
  }
  void take_in(Turn& turn, const Piece& piece) {
    handle(turn, piece);
    if (plan_.strategy == Strategy::immediate) return send(turn, piece);
    if (buffer_.full()) {
      const Piece least = buffer_.take_least();
      if (plan_.strategy == Strategy::sort) {
        send(turn, least);
      } else {
        handle(turn, least);
        journal_.push_back(least);
        result_.journaled += least.bytes;
      }
    }
    buffer_.insert(piece);
  }
  // Merges two streams. It sends no record of its own before it knows the next record from upstream.
  void drain(Turn& turn) {
    while (turn.out_bytes < plan_.client.grain) {
      if (in_.empty() && !upstream_over_) return;
      if (in_.empty() && !has_own()) {
        if (joining_) emit(turn, *joining_);
        turn.worked = over_ = true;
        return;
      }
      const bool upstream = !in_.empty() && (!has_own() || in_.front().offset < own().offset);
      send(turn, upstream ? next_upstream(turn) : next_own(turn));
    }
  }
  bool has_own() const { return !journal_.empty() || !buffer_.empty(); }
  Piece own() const { return journal_.empty() ? buffer_.least() : journal_.front(); }
  Piece next_own(Turn& turn) {
    if (journal_.empty()) return buffer_.take_least();
    const Piece piece = journal_.front();
    journal_.pop_front();
    handle(turn, piece);
    return piece;
  }
  Piece next_upstream(Turn& turn) {
    const Piece piece = in_.front();
    in_.pop_front();
    turn.in_bytes += piece.bytes;
    turn.worked = true;
    in_message_ = piece.more;
    if (closed_) handle(turn, piece);
    return piece;
  }
  void handle(Turn& turn, const Piece& piece) const {
    turn.worked = true;
    turn.cost_ps += plan_.client.record_ns * 1000 + piece.bytes * plan_.client.byte_ps;
  }
  void send(Turn& turn, const Piece& piece) {
    if (!plan_.merge) return emit(turn, piece);
    if (joining_ && joining_->end() == piece.offset && joining_->bytes + piece.bytes <= plan_.record_max) {
      joining_->bytes += piece.bytes;
      return;
    }
    if (joining_) emit(turn, *joining_);
    joining_ = piece;
  }
  void emit(Turn& turn, const Piece& piece) const {
    handle(turn, piece);
    turn.out.push_back(piece);
    turn.out_bytes += piece.bytes;
  }

  io::Timeline& timeline_;
  const PipelinePlan& plan_;
  PipelineResult& result_;
  std::vector<Rank> ranks_;
  std::size_t at_rank_ = 0;
  std::size_t writing_ranks_ = 0;
  bool told_ = true;  // that the output is complete
  SortBuffer buffer_;
  std::deque<Piece> journal_;
  std::deque<Piece> in_;
  std::uint64_t in_bytes_ = 0;  // with what is on its way
  Outbox out_;
  std::optional<Piece> joining_;  // the last record on its way out, which the next one may join
  bool round_over_ = false;       // it is upstream's turn, if it has a record
  bool in_message_ = false;       // the last record from upstream was not the last of its call
  bool busy_ = false;
  bool upstream_over_ = false;
  bool closed_ = false;
  bool over_ = false;  // all has been put out
};

}  // namespace millrace::model
