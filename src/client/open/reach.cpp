// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "client/open/reach.hpp"

#include <poll.h>

#include <algorithm>
#include <vector>

#include "transport/memory.hpp"

namespace millrace::client {

bool can_reach(std::span<const transport::TcpAddress> agents, std::uint64_t bound_ms) {
  const std::uint64_t until_ns = transport::now_ns() + bound_ms * 1'000'000;
  std::vector<Fd> sockets;
  for (const transport::TcpAddress& agent : agents) {
    Result<Fd> socket = transport::tcp_connect(agent);
    if (!socket) return false;
    sockets.push_back(*std::move(socket));
  }
  while (!sockets.empty()) {
    bool broken = false;
    std::erase_if(sockets, [&broken](const Fd& socket) {
      const Result<bool> connected = transport::finish_connect(socket.get());
      broken |= !connected.ok();
      return !connected.ok() || *connected;
    });
    const std::uint64_t now_ns = transport::now_ns();
    if (broken || (!sockets.empty() && now_ns >= until_ns)) return false;
    std::vector<pollfd> waiting;
    waiting.reserve(sockets.size());
    for (const Fd& socket : sockets) waiting.push_back({socket.get(), POLLOUT, 0});
    const auto left_ms = static_cast<int>((until_ns - std::min(until_ns, now_ns)) / 1'000'000 + 1);
    if (!waiting.empty()) (void)::poll(waiting.data(), waiting.size(), left_ms);
  }
  return true;
}

}  // namespace millrace::client
