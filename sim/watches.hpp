// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <algorithm>
#include <cstdint>
#include <map>
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
  void watch(int descriptor, std::uint32_t events, std::uint64_t tag) {
    watched_.erase(descriptor);
    if (events == 0) return;
    watched_[descriptor] = {tag, events};
    look_at_.push_back(descriptor);
  }
  void clear() {
    watched_.clear();
    look_at_.clear();
  }
  // The tags of ready descriptors, and their events.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> ready() {
    const std::vector<int> changed = net_.take_changed(node_);
    look_at_.insert(look_at_.end(), changed.begin(), changed.end());
    std::ranges::sort(look_at_);
    look_at_.erase(std::unique(look_at_.begin(), look_at_.end()), look_at_.end());
    std::vector<std::pair<std::uint64_t, std::uint32_t>> told;
    std::erase_if(look_at_, [this, &told](int descriptor) {
      const auto watched = watched_.find(descriptor);
      if (watched == watched_.end()) return true;
      const auto [tag, wanted] = watched->second;
      const io::VirtualNet::Ready ready = net_.ready(descriptor);
      std::uint32_t events = 0;
      if (ready.readable) events |= wanted & EPOLLIN;
      if (ready.writable) events |= wanted & EPOLLOUT;
      if (ready.broken) events |= EPOLLERR;
      if (events == 0) return true;
      told.emplace_back(tag, events);
      return false;
    });
    return told;
  }

 private:
  io::VirtualNet& net_;
  const std::uint32_t node_;
  std::map<int, std::pair<std::uint64_t, std::uint32_t>> watched_;  // by descriptor: tag and events
  std::vector<int> look_at_;                                        // descriptors that may be ready
};

}  // namespace millrace::sim
