// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "io/net.hpp"

namespace millrace::agent {

// Connections from other hosts that have not yet named a group of this agent. A group is a random number that
// only processes of the job know. The number of strangers is bounded, by host and in all, so that descriptors
// remain for agents of the job. A new connection replaces the oldest stranger, because an agent of the job
// may share its host with a flooding process. Each stranger has a grace period to name its group; until that
// has passed, no new connection replaces it.
class Strangers {
 public:
  static constexpr std::size_t most_of_host = 128;
  static constexpr std::size_t most = 512;
  static constexpr std::uint64_t least_ns = 100'000'000;

  void add(std::uint64_t tag, const io::NetAddress& from, std::uint64_t now_ns) {
    strangers_.push_back({tag, from.ip, now_ns});
    ++counts_[from.ip];
  }

  enum class Room : std::uint8_t { free, to_be_made, none_yet };
  // Whether one more connection can enter. `to_be_made`: the stranger `oldest` has to end first.
  Room room(std::uint64_t now_ns, std::uint64_t& oldest) const {
    if (strangers_.empty()) return Room::free;
    const auto [host, count] =
        *std::ranges::max_element(counts_, {}, &std::pair<const Host, std::size_t>::second);
    if (count < most_of_host && strangers_.size() < most) return Room::free;
    const Stranger& first = *std::ranges::find(strangers_, host, &Stranger::host);
    oldest = first.tag;
    return now_ns - first.since_ns < least_ns ? Room::none_yet : Room::to_be_made;
  }

  // The connection has named a group, or has ended.
  void remove(std::uint64_t tag) {
    const auto place = std::ranges::find(strangers_, tag, &Stranger::tag);
    if (place == strangers_.end()) return;
    if (--counts_[place->host] == 0) counts_.erase(place->host);
    strangers_.erase(place);
  }
  std::size_t size() const { return strangers_.size(); }

 private:
  using Host = decltype(io::NetAddress::ip);
  struct Stranger {
    std::uint64_t tag;
    Host host;
    std::uint64_t since_ns;
  };

  std::deque<Stranger> strangers_;  // the oldest first
  std::map<Host, std::size_t> counts_;
};

}  // namespace millrace::agent
