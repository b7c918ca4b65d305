// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "client/open/plan.hpp"
#include "client/open/team.hpp"
#include "io/virtual/timeline.hpp"
#include "seat.hpp"

namespace millrace::sim {

// The ranks that open a file together. An exchange ends a random time after the last rank has come. After the
// death of a rank it fails, because a launcher ends such a program. Owned by Cluster.
class Assembly {
 public:
  Assembly(std::vector<Seat*> seats, io::Timeline& timeline)
      : seats_(std::move(seats)), said_(seats_.size()), waits_(seats_.size()), timeline_(timeline) {}

  // Ranks that wait look again: the last one has come, or a rank has died.
  void wake() {
    constexpr std::uint64_t hop_ns = 50'000;  // the most time until a rank hears the others
    for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
      if (waits_[rank]) seats_[rank]->rouse_after(1 + timeline_.below(hop_ns));
    }
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
  // false: a rank has died
  bool meet(std::size_t rank) {
    const std::size_t meeting = meetings_;
    if (++come_ == seats_.size()) {
      come_ = 0;
      ++meetings_;
      wake();
    }
    waits_[rank] = true;
    while (meeting == meetings_ && !broken()) seats_[rank]->sleep();
    waits_[rank] = false;
    return !broken();
  }
  bool broken() const {
    return std::ranges::any_of(seats_, [](const Seat* seat) { return seat->gone(); });
  }

  std::vector<Seat*> seats_;
  std::vector<std::vector<std::byte>> said_;  // by rank, in this exchange
  std::vector<bool> waits_;
  io::Timeline& timeline_;
  std::size_t come_ = 0, meetings_ = 0;
  std::optional<std::vector<std::uint64_t>> plan_;  // of the first rank that has one
};

// One rank's view of them.
class VirtualTeam final : public client::Team {
 public:
  VirtualTeam(Assembly& assembly, const Seat& seat)
      : assembly_(assembly),
        rank_(static_cast<std::size_t>(std::ranges::find(assembly.seats_, &seat) - assembly.seats_.begin())) {
  }

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(assembly_.seats_.size()); }
  // The second meeting keeps the words until all ranks have heard them. Words of other sizes are those of
  // another exchange.
  bool gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    assembly_.said_[rank_].assign(mine.begin(), mine.end());
    if (!assembly_.meet(rank_)) return false;
    for (const auto& one : std::span(assembly_.said_).first(rank_ == 0 ? assembly_.said_.size() : 0)) {
      if (one.size() != mine.size()) return false;
      std::ranges::copy(one, all.begin());
      all = all.subspan(one.size());
    }
    return assembly_.meet(rank_);
  }
  bool tell(std::span<std::byte> bytes) override {
    if (rank_ == 0) assembly_.said_.front().assign(bytes.begin(), bytes.end());
    if (!assembly_.meet(rank_) || assembly_.said_.front().size() != bytes.size()) return false;
    std::ranges::copy(assembly_.said_.front(), bytes.begin());
    return assembly_.meet(rank_);
  }

 private:
  Assembly& assembly_;
  const std::size_t rank_;
};

}  // namespace millrace::sim
