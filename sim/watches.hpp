// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/virtual/virtual_net.hpp"

namespace millrace::sim {

// Does the work of epoll on a node of a VirtualNet, level triggered: a descriptor that is still ready is
// reported again. Owned by Node. Not thread safe.
class Watches {
 public:
  Watches(io::VirtualNet& net, std::uint32_t node) : net_(net), node_(node) {}

  // `events`: 0 ends the watch.
  void watch(int descriptor, std::uint32_t events, std::uint64_t tag);
  void clear();
  // The tags of ready descriptors, and their events.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ready();

 private:
  io::VirtualNet& net_;
  const std::uint32_t node_;
  std::map<std::uint64_t, std::uint32_t> events_;  // by tag
  std::unordered_map<int, std::uint64_t> tags_;    // by descriptor
  std::vector<int> look_at_;                       // descriptors that may be ready
};

}  // namespace millrace::sim
