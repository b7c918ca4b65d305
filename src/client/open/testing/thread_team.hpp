// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "client/open/team.hpp"

namespace millrace::client::testing {

// The ranks of a team, as threads.
struct Room {
  explicit Room(int ranks) : size(ranks), all(static_cast<std::size_t>(ranks)), meet(ranks) {}
  const int size;
  std::vector<std::vector<std::byte>> all;  // of each rank
  std::barrier<> meet;
};

// One of them. Each exchange ends when all ranks have come.
class ThreadTeam final : public Team {
 public:
  ThreadTeam(Room& room, int rank) : room_(room), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return room_.size; }
  bool gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    room_.all[static_cast<std::size_t>(rank_)].assign(mine.begin(), mine.end());
    room_.meet.arrive_and_wait();
    for (std::size_t i = 0; !all.empty() && i < room_.all.size(); ++i)
      std::memcpy(all.data() + i * mine.size(), room_.all[i].data(), mine.size());
    room_.meet.arrive_and_wait();
    return true;
  }
  bool tell(std::span<std::byte> bytes) override {
    if (rank_ == 0) {
      room_.all[0].assign(bytes.begin(), bytes.end());
    }
    room_.meet.arrive_and_wait();
    std::memcpy(bytes.data(), room_.all[0].data(), bytes.size());
    room_.meet.arrive_and_wait();
    return true;
  }

 private:
  Room& room_;
  const int rank_;
};

}  // namespace millrace::client::testing
