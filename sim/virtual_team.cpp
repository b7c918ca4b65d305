// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "virtual_team.hpp"

#include <algorithm>
#include <utility>

namespace millrace::sim {

namespace {
constexpr std::uint64_t hop_ns = 50'000;  // the most time from a message to the rank that waits for it
}  // namespace

// After a death, some ranks may have the answers of an exchange and others none.
bool Assembly::agrees(const client::Plan& plan) {
  const std::vector<std::uint64_t> words{plan.group, plan.route, static_cast<std::uint64_t>(plan.apart),
                                         static_cast<std::uint64_t>(plan.through),
                                         plan.reads_alone ? 1U : 0U};
  if (!plan_) plan_ = words;
  return *plan_ == words || broken();
}

bool Assembly::broken() const {
  return std::ranges::any_of(seats_, [](const Seat* seat) { return seat->gone(); });
}

Assembly::Exchange& Assembly::exchange(std::size_t number) {
  while (exchanges_.size() <= number)
    exchanges_.push_back({.said = std::vector<std::optional<Bytes>>(seats_.size()), .told = {}});
  return exchanges_[number];
}

void Assembly::wake() {
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    if (waiting_[rank]) seats_[rank]->rouse_after(1 + timeline_.below(hop_ns));
  }
}

bool Assembly::wait(std::size_t rank, const std::function<bool()>& come) {
  while (!come()) {
    if (broken()) return false;
    waiting_[rank] = true;
    seats_[rank]->sleep();
    waiting_[rank] = false;
  }
  return true;
}

bool VirtualTeam::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (assembly_.seats_[rank_]->gone()) return false;
  Assembly::Exchange& exchange = assembly_.exchange(exchanges_++);
  exchange.said[rank_].emplace(mine.begin(), mine.end());
  assembly_.wake();
  if (rank_ != 0) return true;
  const auto complete = [&] {
    return std::ranges::all_of(exchange.said, [](const auto& one) { return one.has_value(); });
  };
  if (!assembly_.wait(rank_, complete)) return false;
  for (const auto& one : exchange.said) {
    std::ranges::copy(*one, all.begin());
    all = all.subspan(one->size());
  }
  exchange.said.clear();
  return true;
}

bool VirtualTeam::tell(std::span<std::byte> bytes) {
  if (assembly_.seats_[rank_]->gone()) return false;
  Assembly::Exchange& exchange = assembly_.exchange(exchanges_++);
  if (rank_ == 0) exchange.told.emplace(bytes.begin(), bytes.end());
  if (rank_ == 0) assembly_.wake();
  if (!assembly_.wait(rank_, [&] { return exchange.told.has_value(); })) return false;
  std::ranges::copy(*exchange.told, bytes.begin());
  return true;
}

int VirtualTeam::least(int mine) {
  std::vector<int> all;
  if (!client::gather(*this, mine, all)) return 0;
  int least = rank_ == 0 ? *std::ranges::min_element(all) : 0;
  return client::tell(*this, least) ? least : 0;
}

}  // namespace millrace::sim
