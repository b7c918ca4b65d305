// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <optional>
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
  Node(io::Timeline& timeline, const PipelinePlan& plan, PipelineResult& result, std::uint32_t number);

  void send_to(Inbox& next) { out_.send_to(next); }
  std::function<void()> on_output_complete;  // all ranks here have written this output
  void begin_output();
  void next_output();  // after the last one: close
  bool closed() const { return closed_; }

  bool has_room() const override { return in_bytes_ < plan_.link.window; }
  void announce(const std::vector<Piece>& pieces) override;
  void deliver(std::vector<Piece> pieces) override;
  void end() override;

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

  void turn();
  void finish(const Turn& turn);
  void take_own(Turn& turn);
  std::uint64_t take_call(Turn& turn, Rank& rank, std::uint64_t room);
  void take_upstream(Turn& turn, std::uint64_t bytes);
  void take_in(Turn& turn, const Piece& piece);
  void drain(Turn& turn);
  bool has_own() const { return !journal_.empty() || !buffer_.empty(); }
  Piece own() const { return journal_.empty() ? buffer_.least() : journal_.front(); }
  Piece next_own(Turn& turn);
  Piece next_upstream(Turn& turn);
  void handle(Turn& turn, const Piece& piece) const;
  void send(Turn& turn, const Piece& piece);
  void emit(Turn& turn, const Piece& piece) const;

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
