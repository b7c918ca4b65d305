// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <algorithm>
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
  void watch(int descriptor, std::uint32_t events, std::uint64_t tag) {
    if (events == 0) {
      events_.erase(tag);
      tags_.erase(descriptor);
    } else {
      events_.insert_or_assign(tag, events);
      tags_.insert_or_assign(descriptor, tag);
      look_at_.push_back(descriptor);
    }
  }
  void clear() {
    events_.clear();
    tags_.clear();
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
      const auto tag = tags_.find(descriptor);
      if (tag == tags_.end()) return true;
      const std::uint32_t wanted = events_[tag->second];
      const io::VirtualNet::Ready ready = net_.ready(descriptor);
      std::uint32_t events = 0;
      if (ready.readable) events |= wanted & EPOLLIN;
      if (ready.writable) events |= wanted & EPOLLOUT;
      if (ready.broken) events |= EPOLLERR;
      if (events == 0) return true;
      told.emplace_back(tag->second, events);
      return false;
    });
    return told;
  }

 private:
  io::VirtualNet& net_;
  const std::uint32_t node_;
  std::map<std::uint64_t, std::uint32_t> events_;  // by tag
  std::unordered_map<int, std::uint64_t> tags_;    // by descriptor
  std::vector<int> look_at_;                       // descriptors that may be ready
};

}  // namespace millrace::sim
