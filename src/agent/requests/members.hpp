// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/requests/sender.hpp"

namespace millrace::agent {

// One open of the file.
struct Member {
  SenderId sender;
  std::uint64_t group;
  bool upstream;            // an agent, with its ranks behind it
  std::uint32_t round = 0;  // number of its syncs
  bool closing = false;
  bool lost_peer = false;  // its next answer carries Code::lost_peer
  std::uint64_t mark = 0;  // an agent's last mark since its last sync
};

// The senders that have one file open, and the number of agents that will open it. Not thread safe.
class Members {
 public:
  // `upstreams`: the number of agents that will join. The file stays open for them.
  explicit Members(std::uint32_t upstreams) : awaited_(upstreams) {}

  // `expected`: senders of the group that may join; 0 if unknown.
  void join(SenderId sender, std::uint64_t group, std::uint32_t expected, bool upstream);
  // The sender's oldest open that is not closing; nullptr if there is none. A sender may have a file open
  // twice, and a request does not name the open. Ranks of one group ask in one order, so all of them mean the
  // same open.
  Member* active(SenderId sender);
  const Member* find(SenderId sender) const;
  bool has(SenderId sender) const { return find(sender) != nullptr; }
  // The sender's close has been answered.
  void leave(SenderId sender, std::uint64_t group);
  // The sender has gone without closing.
  void abandon(SenderId sender);
  // True once for each sender of the group, if a rank of the group has gone.
  bool take_lost_peer(SenderId sender, std::uint64_t group);
  // As above, for the group of active(sender).
  bool take_lost_peer(SenderId sender);

  bool empty() const { return opens_.empty(); }
  const std::vector<Member>& opens() const { return opens_; }
  // The number of agents that have not joined yet.
  std::uint32_t awaited() const { return awaited_; }
  void give_up_awaiting() { awaited_ = 0; }

  // True if a rank has the file open and has not asked for its close.
  bool used_by_ranks() const {
    return std::ranges::any_of(opens_, [](const Member& m) { return !m.upstream && !m.closing; });
  }
  bool used_by_ranks_of(std::uint64_t group) const {
    return std::ranges::any_of(
        opens_, [group](const Member& m) { return !m.upstream && !m.closing && m.group == group; });
  }
  // True if a sender of the group has ever joined.
  bool knows(std::uint64_t group) const {
    return std::ranges::find(groups_, group, &Group::number) != groups_.end();
  }
  // True if no other group has ever joined.
  bool is_only(std::uint64_t group) const { return groups_.size() == 1 && knows(group); }
  // The groups of all senders that ever joined.
  std::vector<std::uint64_t> known_groups() const {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(groups_.size());
    for (const Group& group : groups_) numbers.push_back(group.number);
    return numbers;
  }
  // True if some of the group's expected senders have not joined.
  bool lacks(std::uint64_t group) const {
    const auto known = std::ranges::find(groups_, group, &Group::number);
    return known != groups_.end() && known->joined < known->expected;
  }
  std::uint32_t ranks_seen() const { return ranks_seen_; }
  std::uint32_t upstreams_seen() const { return upstreams_seen_; }

 private:
  struct Group {
    std::uint64_t number;
    std::uint32_t expected;
    std::uint32_t joined;
  };

  std::vector<Member> opens_;
  std::vector<Group> groups_;  // of all senders that ever joined
  std::uint32_t awaited_;
  std::uint32_t ranks_seen_ = 0;
  std::uint32_t upstreams_seen_ = 0;
};

}  // namespace millrace::agent
