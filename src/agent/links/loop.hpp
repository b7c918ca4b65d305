// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "io/clock.hpp"
#include "io/net.hpp"
#include "transport/link_io.hpp"

namespace millrace::agent {

// The interface of links to the event loop, Server's or the simulator's. Net and clock outlive it.
struct Loop {
  // Watches a socket for these epoll events under a tag; 0: no longer.
  using WatchSocket = std::function<void(int socket, std::uint32_t events, std::uint64_t tag)>;
  using LogLine = std::function<void(const std::string& line)>;

  io::Net& net;
  const io::Clock& clock;
  WatchSocket watch;
  LogLine log;
  std::uint64_t first_tag;  // the listener's; links have higher ones
  transport::LinkTimes times;
  std::uint64_t tags = 1;

  std::uint64_t new_tag() { return first_tag + tags++; }

  struct Socket {
    std::uint64_t tag = 0;
    std::uint32_t watched = 0;  // the epoll events for which the loop watches the socket
    std::uint32_t events = 0;   // the epoll events since the last pump()
  };
  // Sends and receives what the socket's events allow.
  Status pump(transport::LinkIo& io, Socket& socket, std::uint64_t now_ns) const {
    constexpr std::uint32_t broken = EPOLLERR | EPOLLHUP;
    const std::uint32_t events = std::exchange(socket.events, 0);
    return io.pump(now_ns, (events & (EPOLLIN | broken)) != 0, (events & (EPOLLOUT | broken)) != 0);
  }
  // Watches the socket for the events that the link needs now.
  void watch_again(transport::LinkIo& io, Socket& socket) const {
    std::uint32_t wanted = 0;
    if (io.wants_read()) wanted |= EPOLLIN;
    if (io.wants_write()) wanted |= EPOLLOUT;
    if (wanted != socket.watched) watch(io.socket(), wanted, socket.tag);
    socket.watched = wanted;
  }
  void unwatch(const transport::LinkIo& io, Socket& socket) const {
    if (socket.watched != 0) watch(io.socket(), 0, socket.tag);
    socket.watched = 0;
  }
};

}  // namespace millrace::agent
