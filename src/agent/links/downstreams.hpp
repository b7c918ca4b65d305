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

// The links to agents nearer to the file servers. A Carrier makes its link when it first has something to
// say. Not thread safe.
class Downstreams {
 public:
  // `heard`: the other end of such a link has said so often that it got something done.
  using Heard = std::function<void(const transport::LinkIntroduction& from, std::uint64_t signs)>;

  Downstreams(Loop& loop, Heard heard) : loop_(loop), heard_(std::move(heard)) {}
  Downstreams(const Downstreams&) = delete;
  Downstreams& operator=(const Downstreams&) = delete;

  // The lanes of this agent.
  Route route_of(const transport::Register& registration);
  // Events of a socket, if it is one of these.
  void handle(std::uint64_t tag, std::uint32_t events);
  // Visits only links that something has happened to: there may be thousands.
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
