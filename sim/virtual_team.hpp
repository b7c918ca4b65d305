// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "client/open/plan.hpp"
#include "client/open/team.hpp"
#include "io/virtual/timeline.hpp"
#include "seat.hpp"

namespace millrace::sim {

// The ranks that open a file together. A message takes a random time. After the death of a rank all exchanges
// fail, because a launcher ends such a program. Owned by Cluster.
class Assembly {
 public:
  Assembly(std::vector<Seat*> seats, io::Timeline& timeline)
      : seats_(std::move(seats)), waits_(seats_.size()), timeline_(timeline) {}

  // Ranks that wait look again: a rank has died.
  void wake() {
    for (std::size_t rank = 0; rank < seats_.size(); ++rank) rouse(rank);
  }
  // True if this rank and the ranks before it have the same plan, or if a rank has died.
  // After a death, some ranks may have the messages of an exchange and others none.
  bool agrees(const client::Plan& plan) {
    const std::vector<std::uint64_t> words{plan.group,
                                           plan.route,
                                           static_cast<std::uint64_t>(plan.apart),
                                           static_cast<std::uint64_t>(plan.through),
                                           plan.reads_alone ? 1U : 0U,
                                           static_cast<std::uint64_t>(plan.error)};
    if (!plan_) plan_ = words;
    return (plan.ours && *plan_ == words) || broken();
  }

 private:
  friend class VirtualTeam;
  void rouse(std::size_t rank) {
    constexpr std::uint64_t hop_ns = 50'000;  // the most time of a message
    if (waits_[rank]) seats_[rank]->rouse_after(1 + timeline_.below(hop_ns));
  }
  bool broken() const {
    return std::ranges::any_of(seats_, [](const Seat* seat) { return seat->gone(); });
  }

  std::vector<Seat*> seats_;
  std::vector<bool> waits_;
  io::Timeline& timeline_;
  // From one rank to another.
  std::map<std::pair<std::size_t, std::size_t>, std::deque<std::vector<std::byte>>> sent_;
  std::optional<std::vector<std::uint64_t>> plan_;  // of the first rank that has one
};

// One rank's view of them.
class VirtualTeam final : public client::Team {
 public:
  VirtualTeam(Assembly& assembly, const Seat& seat, bool connected)
      : assembly_(assembly),
        connected_(connected),
        rank_(static_cast<std::size_t>(std::ranges::find(assembly.seats_, &seat) - assembly.seats_.begin())) {
  }

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(assembly_.seats_.size()); }
  bool connected() const override { return connected_; }
  bool send(int to, std::span<const std::byte> message) override {
    const auto other = static_cast<std::size_t>(to);
    assembly_.sent_[{rank_, other}].emplace_back(message.begin(), message.end());
    assembly_.rouse(other);
    return !assembly_.broken();
  }
  bool receive(int from, const Room& room) override {
    auto& sent = assembly_.sent_[{static_cast<std::size_t>(from), rank_}];
    assembly_.waits_[rank_] = true;
    while (sent.empty() && !assembly_.broken()) assembly_.seats_[rank_]->sleep();
    assembly_.waits_[rank_] = false;
    if (assembly_.broken()) return false;
    const std::vector<std::byte> message = std::move(sent.front());
    sent.pop_front();
    const std::span<std::byte> place = room(message.size());
    if (place.size() != message.size()) return false;  // the message is of another exchange
    std::ranges::copy(message, place.begin());
    return true;
  }

 private:
  Assembly& assembly_;
  const bool connected_;
  const std::size_t rank_;
};

}  // namespace millrace::sim
