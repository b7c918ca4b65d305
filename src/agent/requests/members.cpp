// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/members.hpp"

#include <utility>

namespace millrace::agent {

void Members::join(SenderId sender, std::uint64_t group, std::uint32_t expected, bool upstream) {
  opens_.push_back({sender, group, upstream});
  auto known = std::ranges::find(groups_, group, &Group::number);
  if (known == groups_.end()) known = groups_.insert(known, {group, expected, 0});
  ++known->joined;
  ++(upstream ? upstreams_seen_ : ranks_seen_);
  if (upstream && awaited_ > 0) --awaited_;
}

Member* Members::active(SenderId sender) {
  const auto found =
      std::ranges::find_if(opens_, [sender](const Member& m) { return m.sender == sender && !m.closing; });
  return found == opens_.end() ? nullptr : &*found;
}

const Member* Members::find(SenderId sender) const {
  const auto found = std::ranges::find(opens_, sender, &Member::sender);
  return found == opens_.end() ? nullptr : &*found;
}

void Members::leave(SenderId sender, std::uint64_t group) {
  const auto leaves = std::ranges::find_if(
      opens_, [&](const Member& m) { return m.sender == sender && m.group == group && m.closing; });
  if (leaves != opens_.end()) opens_.erase(leaves);
}

void Members::abandon(SenderId sender) {
  // Opens that are closing stay until leave().
  while (const Member* const open = active(sender)) {
    const Member gone = *open;
    opens_.erase(opens_.begin() + (open - opens_.data()));
    if (gone.upstream) awaited_ = 0;  // the job is broken: other agents may never come
    for (Member& m : opens_) {
      if (m.group == gone.group && m.sender != sender) m.lost_peer = true;
    }
  }
}

bool Members::take_lost_peer(SenderId sender, std::uint64_t group) {
  bool lost = false;
  for (Member& m : opens_) {
    if (m.sender == sender && m.group == group) lost |= std::exchange(m.lost_peer, false);
  }
  return lost;
}

bool Members::take_lost_peer(SenderId sender) {
  Member* const who = active(sender);
  return who != nullptr && std::exchange(who->lost_peer, false);
}

}  // namespace millrace::agent
