// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "io/net.hpp"

namespace millrace::agent {

// Connections from other hosts that have not proved yet that they belong to the job, in the order in which
// they came. Their number is bounded, by host and in all, so that descriptors are left for those that belong.
// Whoever is new is let in all the same: an agent of the job may share its host with somebody who floods us,
// and proves itself within a moment. The oldest one makes way.
class Strangers {
 public:
  static constexpr std::size_t most_of_host = 64;
  static constexpr std::size_t most = 256;

  // Who has to make way, by its tag; nothing if there is room for one more.
  std::optional<std::uint64_t> add(std::uint64_t tag, const io::Address& from) {
    strangers_.push_back({tag, from.ip});
    const std::size_t of_host = ++counts_[from.ip];
    if (strangers_.size() <= most && of_host <= most_of_host) return std::nullopt;
    const Host host = strangers_.size() <= most ? from.ip : busiest();
    const std::uint64_t oldest = std::ranges::find(strangers_, host, &Stranger::host)->tag;
    remove(oldest);
    return oldest;
  }
  // It belongs to the job, or has gone.
  void remove(std::uint64_t tag) {
    const auto place = std::ranges::find(strangers_, tag, &Stranger::tag);
    if (place == strangers_.end()) return;
    if (--counts_[place->host] == 0) counts_.erase(place->host);
    strangers_.erase(place);
  }
  std::size_t size() const { return strangers_.size(); }

 private:
  using Host = decltype(io::Address::ip);
  struct Stranger {
    std::uint64_t tag;
    Host host;
  };
  Host busiest() const {
    return std::ranges::max_element(counts_, {}, &std::pair<const Host, std::size_t>::second)->first;
  }

  std::deque<Stranger> strangers_;
  std::map<Host, std::size_t> counts_;
};

}  // namespace millrace::agent
