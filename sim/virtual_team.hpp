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
  void wake();
  // True if this rank and the ranks before it have the same plan, or if a rank has died.
  bool agrees(const client::Plan& plan);

 private:
  friend class VirtualTeam;
  bool meet(std::size_t rank);  // false: a rank has died
  bool broken() const;

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
  bool gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  bool tell(std::span<std::byte> bytes) override;

 private:
  Assembly& assembly_;
  const std::size_t rank_;
};

}  // namespace millrace::sim
