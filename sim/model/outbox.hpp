// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
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
  Outbox(io::Timeline& timeline, const PipelinePlan& plan);

  void send_to(Inbox& next);
  std::function<void()> on_sent;  // there may be room again

  bool has_room() const { return bytes_ < plan_.link.window; }
  void put(const std::vector<Piece>& pieces);
  // No more records follow: the next one is told after the last record.
  void end() { over_ = true; }
  // Sends what the next one has room for.
  void pump();

 private:
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
