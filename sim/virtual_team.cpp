// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "virtual_team.hpp"

#include <algorithm>
#include <utility>

namespace millrace::sim {

bool Assembly::meet(std::size_t rank) {
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

void Assembly::wake() {
  constexpr std::uint64_t hop_ns = 50'000;  // the most time until a rank hears the others
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    if (waits_[rank]) seats_[rank]->rouse_after(1 + timeline_.below(hop_ns));
  }
}

bool Assembly::broken() const {
  return std::ranges::any_of(seats_, [](const Seat* seat) { return seat->gone(); });
}

// After a death, some ranks may have the messages of an exchange and others none.
bool Assembly::agrees(const client::Plan& plan) {
  const std::vector<std::uint64_t> words{plan.group, plan.route, static_cast<std::uint64_t>(plan.apart),
                                         static_cast<std::uint64_t>(plan.through),
                                         plan.reads_alone ? 1U : 0U};
  if (!plan_) plan_ = words;
  return (plan.ours && *plan_ == words) || broken();
}

// The second meeting keeps the words until all ranks have heard them. Words of other sizes are those of
// another exchange.
bool VirtualTeam::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  assembly_.said_[rank_].assign(mine.begin(), mine.end());
  if (!assembly_.meet(rank_)) return false;
  for (const auto& one : std::span(assembly_.said_).first(rank_ == 0 ? assembly_.said_.size() : 0)) {
    if (one.size() != mine.size()) return false;
    std::ranges::copy(one, all.begin());
    all = all.subspan(one.size());
  }
  return assembly_.meet(rank_);
}

bool VirtualTeam::tell(std::span<std::byte> bytes) {
  if (rank_ == 0) assembly_.said_.front().assign(bytes.begin(), bytes.end());
  if (!assembly_.meet(rank_) || assembly_.said_.front().size() != bytes.size()) return false;
  std::ranges::copy(assembly_.said_.front(), bytes.begin());
  return assembly_.meet(rank_);
}

}  // namespace millrace::sim
