// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "client/file/other_agents.hpp"
#include "node.hpp"
#include "seat.hpp"

namespace millrace::sim {

// The node's agent, as a process sees it that has no session with it.
class Outlived final : public client::OtherAgent {
 public:
  Outlived(Node& node, Seat& seat, std::uint64_t timeout_ms)
      : node_(node), seat_(seat), timeout_ms_(timeout_ms), view_(node.shown()) {}

  int process() const override { return 1; }
  bool lives() const override { return node_.alive(); }
  const client::PageView& view() const override { return view_; }
  Result<std::unique_ptr<client::Session>> ask() override {
    agent::SenderId sender = 0;
    if (!node_.admits()) return Code::timeout;
    Result<client::SessionParts> parts = node_.connect(sender);
    if (!parts) return parts.status();
    parts->contact = std::make_unique<Line>(seat_, sender);
    parts->timeout_ms = timeout_ms_;
    return std::make_unique<client::Session>(*std::move(parts));
  }
  bool end() override {
    node_.crash(false);
    return true;
  }
  bool bury() override { return true; }

 private:
  Node& node_;
  Seat& seat_;
  const std::uint64_t timeout_ms_;
  const client::PageView view_;
};

}  // namespace millrace::sim
