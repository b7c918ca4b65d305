// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/links/doorkeeper.hpp"
#include "agent/links/loop.hpp"
#include "agent/links/strangers.hpp"
#include "io/net.hpp"

namespace millrace::agent {

// Accepts connections from other hosts, and bounds the cost of strangers among them. Not thread safe.
class Gate {
 public:
  explicit Gate(Loop& loop) : loop_(loop) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Returns the port; listens from the first call on.
  Result<std::uint16_t> listen();
  // Watches the listener only while the door is open. While it is shut, the listener may stay readable and
  // must not wake the agent.
  void watch_door(std::uint64_t now_ns);

  enum class Next { nobody, makes_way, comes };
  // Accepts a connection. `comes`: `stream` is it, and the caller calls admit() if it keeps it, then
  // let_in(). `makes_way`: the caller first ends the stranger `oldest`.
  Next next(std::uint64_t now_ns, std::uint64_t& oldest, std::unique_ptr<io::Stream>& stream);
  void admit(std::uint64_t tag, const io::Stream& stream, std::uint64_t now_ns) {
    strangers_.add(tag, stream.peer(), now_ns);
  }
  void let_in() { door_.let_in(); }
  // The connection has named a group, so it is no stranger.
  void knows(std::uint64_t tag);
  // The connection has ended.
  void forget(std::uint64_t tag) { strangers_.remove(tag); }
  // The number of log lines is bounded, so that a flood of strangers does not fill the log.
  void log_refused(const std::string& why);
  // The time for the next watch_door(), even without an event; UINT64_MAX: never.
  std::uint64_t deadline_ns() const { return watched_ ? UINT64_MAX : door_.opens_ns(); }

 private:
  Loop& loop_;
  std::unique_ptr<io::Listener> listener_;
  Doorkeeper door_;
  bool watched_ = false;
  Strangers strangers_;
  std::uint64_t refused_ = 0;
};

}  // namespace millrace::agent
