// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "agent/links/doorkeeper.hpp"
#include "agent/links/links.hpp"
#include "agent/server/connection.hpp"
#include "agent/server/epoll.hpp"
#include "agent/server/rounds.hpp"
#include "base/fd.hpp"

namespace millrace::agent {

// Talks to ranks over their sockets: ranks connect, register files, and leave. Their records come through
// their rings (Rounds). Owned by Server. The arguments of its constructor outlive it. Not thread safe.
class Reception {
 public:
  // Every rank gets these: the page that all of them see, and the eventfd that wakes the agent.
  struct Shown {
    int page;
    int wake;
  };
  using Log = std::function<void(const std::string& line)>;

  // `listener` listens already; its tag in `epoll`, and that of the first rank.
  Reception(Rounds& rounds, Links& links, Epoll& epoll, Fd listener, std::uint64_t listener_tag,
            std::uint64_t first_rank_tag, Shown shown, Log log);

  // While the door is shut the listener is readable, and must not wake us.
  void watch_door();
  void accept_all();
  // The rank's socket has something to say.
  void receive(SenderId rank);
  // Drops processes that have connected and do not greet. When to call it again; UINT64_MAX: nobody is
  // silent.
  std::uint64_t drop_silent(std::uint64_t now_ns);
  // When the door opens; UINT64_MAX: it is open.
  std::uint64_t opens_ns() const { return door_.opens_ns(); }
  // Some rank has greeted.
  bool served() const { return served_; }

 private:
  void receive(Connection& connection);
  bool greet(Connection& connection, const void* data, std::size_t size, Fd memory);
  void enroll(Connection& connection, const transport::Register& registration, Fd target);
  void meet(Connection& connection, std::uint32_t version);
  void hang_up(Connection& connection);

  Rounds& rounds_;
  Links& links_;
  Epoll& epoll_;
  Fd listener_;
  std::uint64_t listener_tag_;
  std::uint64_t first_rank_tag_;
  Shown shown_;
  Log log_;
  std::uint64_t born_ns_;
  Doorkeeper door_;
  bool door_watched_ = false;
  std::uint64_t refused_ = 0;    // processes of other users
  bool silent_ = false;          // somebody may have connected and not greeted
  std::uint64_t looked_ns_ = 0;  // for such
  bool served_ = false;
};

}  // namespace millrace::agent
