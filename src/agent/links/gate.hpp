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

  // Its port; listens from the first call on.
  Result<std::uint16_t> listen();
  // While the door is shut the listener is readable, and must not wake us.
  void watch_door(std::uint64_t now_ns);

  enum class Next { nobody, makes_way, comes };
  // The next one that connects, if it may come in: admit(), then let_in(). `oldest`: the stranger that has to
  // make way first.
  Next next(std::uint64_t now_ns, std::uint64_t& oldest, std::unique_ptr<io::Stream>& stream);
  void admit(std::uint64_t tag, const io::Stream& stream, std::uint64_t now_ns) {
    strangers_.add(tag, stream.peer(), now_ns);
  }
  void let_in() { door_.let_in(); }
  // It has named a group: no stranger.
  void knows(std::uint64_t tag);
  // It has gone as a stranger.
  void forget(std::uint64_t tag) { strangers_.remove(tag); }
  // A flood of strangers is not to fill the log too.
  void log_refused(const std::string& why);
  // When to watch_door() though nothing happens.
  std::uint64_t deadline_ns() const { return watched_ ? UINT64_MAX : door_.opens_ns(); }

 private:
  Loop& loop_;
  std::unique_ptr<io::Listener> listener_;
  Doorkeeper door_;
  bool watched_ = false;
  Strangers strangers_;  // that have named no group yet
  std::uint64_t refused_ = 0;
};

}  // namespace millrace::agent
