// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "client/open/team.hpp"

namespace millrace::client::testing {

// The ranks of a team, as threads.
struct Room {
  explicit Room(int ranks) : size(ranks) {}
  const int size;
  std::mutex mutex;
  std::condition_variable come;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> sent;  // from one rank to another
};

// One of them.
class ThreadTeam final : public Team {
 public:
  ThreadTeam(testing::Room& room, int rank, bool connected = true)
      : room_(room), rank_(rank), connected_(connected) {}
  int rank() const override { return rank_; }
  int size() const override { return room_.size; }
  bool connected() const override { return connected_; }
  bool send(int to, std::span<const std::byte> message) override {
    const std::lock_guard lock(room_.mutex);
    room_.sent[{rank_, to}].emplace_back(message.begin(), message.end());
    room_.come.notify_all();
    return true;
  }
  bool receive(int from, const Room& room) override {
    std::unique_lock lock(room_.mutex);
    auto& sent = room_.sent[{from, rank_}];
    room_.come.wait(lock, [&sent] { return !sent.empty(); });
    std::ranges::copy(sent.front(), room(sent.front().size()).begin());
    sent.pop_front();
    return true;
  }

 private:
  testing::Room& room_;
  const int rank_;
  const bool connected_;
};

}  // namespace millrace::client::testing
