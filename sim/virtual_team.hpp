// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "client/open/plan.hpp"
#include "client/open/team.hpp"
#include "io/virtual/timeline.hpp"
#include "seat.hpp"

namespace millrace::sim {

// The ranks that open the file together, and their messages. Owned by Cluster, one for each open.
class Assembly {
 public:
  Assembly(std::vector<Seat*> seats, io::Timeline& timeline)
      : seats_(std::move(seats)), waiting_(seats_.size()), timeline_(timeline) {}

  // True if the ranks with a plan so far have the same one, or if a rank has died.
  bool agrees(const client::Plan& plan);
  // Ranks that wait for a message look again: one has come, or a rank has died.
  void wake();

 private:
  friend class VirtualTeam;
  using Bytes = std::vector<std::byte>;
  struct Exchange {
    std::vector<std::optional<Bytes>> said;  // by rank
    std::optional<Bytes> told;
  };
  Exchange& exchange(std::size_t number);
  bool broken() const;  // a rank has died
  // Waits in the rank's fiber. False: a rank has died before.
  bool wait(std::size_t rank, const std::function<bool()>& come);

  std::vector<Seat*> seats_;
  std::vector<bool> waiting_;
  io::Timeline& timeline_;
  std::deque<Exchange> exchanges_;
  std::optional<std::vector<std::uint64_t>> plan_;  // of the first rank that has one
};

// One rank's view of them. Messages take a random time. After the death of a rank, exchanges fail, because a
// launcher ends such a program.
class VirtualTeam final : public client::Team {
 public:
  VirtualTeam(Assembly& assembly, std::size_t rank) : assembly_(assembly), rank_(rank) {}

  int rank() const override { return static_cast<int>(rank_); }
  int size() const override { return static_cast<int>(assembly_.seats_.size()); }
  bool gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  bool tell(std::span<std::byte> bytes) override;
  int least(int mine) override;

 private:
  Assembly& assembly_;
  const std::size_t rank_;
  std::size_t exchanges_ = 0;
};

}  // namespace millrace::sim
