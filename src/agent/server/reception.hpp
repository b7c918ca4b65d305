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
#include "agent/server/place.hpp"
#include "agent/server/rounds.hpp"
#include "base/fd.hpp"

namespace millrace::agent {

// Talks to ranks over their sockets: ranks connect, register files, and leave. Their records come through
// their rings (Rounds). Owned by Server. The arguments of its constructor outlive it. Not thread safe.
class Reception {
 public:
  // The descriptors that every rank gets: the agent's page, and the eventfd that wakes the agent.
  struct GivenFds {
    int page;
    int wake;
  };
  using LogLine = std::function<void(const std::string& line)>;

  // `listener` listens already. The tags are those in `epoll`.
  Reception(Rounds& rounds, Links& links, Epoll& epoll, Fd listener, std::uint64_t listener_tag,
            std::uint64_t first_rank_tag, GivenFds shown, LogLine log);

  // Watches the listener only while the door is open. While it is shut, the listener may stay readable and
  // must not wake the agent.
  void watch_door();
  // If no descriptor is free, a process is let in by the spare one. It greets, and hears that it is refused.
  void accept_all();
  // The rank's socket is readable.
  void receive(SenderId rank);
  // Drops processes that have connected and do not greet. Returns the time of the next call; UINT64_MAX: all
  // processes have greeted.
  std::uint64_t drop_silent(std::uint64_t now_ns);
  // The time at which the door opens; UINT64_MAX: it is open.
  std::uint64_t opens_ns() const { return door_.opens_ns(); }
  // Where the agent runs, after the words of its ranks.
  const Placement& place() const { return place_; }
  // True if any rank has ever greeted.
  bool served() const { return served_; }

 private:
  void take_spare();
  Result<Fd> accept();
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
  GivenFds shown_;
  LogLine log_;
  Placement place_;
  std::uint64_t born_ns_;
  Doorkeeper door_;
  bool door_watched_ = false;
  Fd spare_;
  std::uint64_t refused_ = 0;    // processes of other users
  bool silent_ = false;          // a process may have connected and not greeted
  std::uint64_t looked_ns_ = 0;  // the last look at such processes
  bool served_ = false;
};

}  // namespace millrace::agent
