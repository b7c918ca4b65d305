// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "watches.hpp"

#include <sys/epoll.h>

#include <algorithm>

namespace millrace::sim {

void Watches::watch(int descriptor, std::uint32_t events, std::uint64_t tag) {
  if (events == 0) {
    events_.erase(tag);
    tags_.erase(descriptor);
  } else {
    events_.insert_or_assign(tag, events);
    tags_.insert_or_assign(descriptor, tag);
    look_at_.push_back(descriptor);
  }
}

void Watches::clear() {
  events_.clear();
  tags_.clear();
  look_at_.clear();
}

std::vector<std::pair<std::uint64_t, std::uint32_t>> Watches::ready() {
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

}  // namespace millrace::sim
