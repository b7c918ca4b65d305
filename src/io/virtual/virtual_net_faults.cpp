// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The faults of VirtualNet.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/virtual/virtual_streams.hpp"

namespace millrace::io {

namespace {
constexpr std::uint64_t retransmit_ns = 200'000'000;  // segments arrive at most this long after heal()
}  // namespace

bool VirtualNet::is_cut(std::uint32_t a, std::uint32_t b) const { return cuts_.contains(std::minmax(a, b)); }

void VirtualNet::cut(std::uint32_t a, std::uint32_t b) {
  trace_.note(timeline_.now_ns(), a, "fault: cut from", b);
  cuts_.insert(std::minmax(a, b));
}

void VirtualNet::heal(std::uint32_t a, std::uint32_t b) {
  trace_.note(timeline_.now_ns(), a, "healed with", b);
  cuts_.erase(std::minmax(a, b));
  for (const Endpoint& end : endpoints_) {
    const Shared connection = end.connection.lock();
    if (!connection || std::minmax(connection->node[0], connection->node[1]) != std::minmax(a, b)) continue;
    const int side = end.side;
    timeline_.after(timeline_.below(retransmit_ns), [this, connection, side] {
      Direction& way = connection->way[1 - side];
      while (!way.held.empty() && !is_cut(connection->node[0], connection->node[1])) {
        const auto segment = std::move(way.held.front());
        way.held.pop_front();
        deliver(connection, 1 - side, *segment);
      }
    });
  }
}

void VirtualNet::delay(std::uint32_t node, std::uint64_t more_ns) {
  trace_.note(timeline_.now_ns(), node, "fault: delayed by", more_ns);
  hosts_[node]->more_ns = more_ns;
}

void VirtualNet::corrupt(std::uint32_t node) { hosts_[node]->corrupts = true; }

void VirtualNet::crash(std::uint32_t node, bool silent) {
  hosts_[node]->silent = silent;
  hosts_[node]->wake = nullptr;
  std::vector<Shared> lost;
  for (const int descriptor : hosts_[node]->ends) {
    if (const Shared connection = endpoint(descriptor).connection.lock()) lost.push_back(connection);
  }
  for (const Shared& connection : lost) {
    for (const int side : {0, 1}) {
      if (connection->node[side] == node) {
        connection->broken[side] = true;  // this side sends no more bytes
      } else if (!silent) {
        reset(connection, side, ECONNRESET);
      }
    }
  }
}

void VirtualNet::restart(std::uint32_t node) {
  hosts_[node]->silent = false;
  hosts_[node]->changed.clear();
}

void VirtualNet::repair() {
  for (const auto& host : hosts_) host->corrupts = false;
}

}  // namespace millrace::io
