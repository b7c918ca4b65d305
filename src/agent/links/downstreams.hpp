// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "agent/links/agenda.hpp"
#include "agent/links/downstream.hpp"
#include "agent/links/loop.hpp"
#include "agent/pipeline/carrier.hpp"
#include "transport/link_wire.hpp"
#include "transport/route.hpp"

namespace millrace::agent {

// The links to agents nearer to the file servers. A Carrier makes its link before its first frame. Not thread
// safe.
class Downstreams {
 public:
  // `signs`: the number of signs of progress that have come from the other end.
  using Heard = std::function<void(const transport::LinkIntroduction& from, std::uint64_t signs)>;

  Downstreams(Loop& loop, Heard heard) : loop_(loop), heard_(std::move(heard)) {}
  Downstreams(const Downstreams&) = delete;
  Downstreams& operator=(const Downstreams&) = delete;

  // The lanes of the file, with a Carrier for each that has a next agent.
  Route route_of(const transport::Register& registration);
  // Events of a socket. Ignores the tags of other sockets.
  void handle(std::uint64_t tag, std::uint32_t events);
  // Visits only links that have something to do.
  void pump(std::uint64_t now_ns);
  std::uint64_t deadline_ns() const { return agenda_->deadline_ns(); }
  bool empty() const { return links_.empty(); }

 private:
  void connect(const std::shared_ptr<Downstream>& to);
  bool pump(Downstream& to, std::uint64_t now_ns);

  Loop& loop_;
  Heard heard_;
  std::map<std::uint64_t, std::shared_ptr<Downstream>> links_;  // by tag
  std::shared_ptr<Agenda> agenda_ = std::make_shared<Agenda>();
};

}  // namespace millrace::agent
