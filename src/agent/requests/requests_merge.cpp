// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// The part of Requests that merges what agents upstream send with what is here (ADR 16).
#include <algorithm>

#include "agent/requests/requests.hpp"

namespace millrace::agent {

// Not where the file is this agent's alone: there is nothing to merge with.
bool Requests::merges() const {
  return upstreams_hold() && (pipeline_.carries() || upstreams_seen_ > 0 || awaited_ > 0);
}

bool Requests::asked_too(const Member& other, const Waiter& waiter) const {
  return other.group != waiter.group || other.channel == waiter.channel || other.closing ||
         (waiter.kind == Kind::sync && other.round >= waiter.round);
}

void Requests::mark(ChannelId channel, std::uint64_t offset) {
  if (Member* who = member(channel)) who->mark = offset;
}

std::optional<std::uint64_t> Requests::merges_until(const Waiter& waiter) const {
  if (awaited_ > 0) return std::nullopt;
  std::uint64_t until = UINT64_MAX;
  for (const Member& m : members_) {
    if (asked_too(m, waiter)) continue;
    if (!m.upstream) return std::nullopt;
    until = std::min(until, m.mark);
  }
  return until;
}

bool Requests::step_sweep() {
  std::optional<std::uint64_t> until;
  bool whole = false;
  for (const auto& [id, waiter] : waiters_) {
    if (waiter.step == Step::gather && merges()) {
      const auto its = merges_until(waiter);
      if (its && (!until || *its > *until)) until = its;
    }
    whole |= waiter.step == Step::sweep;
  }
  merging_ = !whole && until;
  if (whole) until = UINT64_MAX;
  if (until) {
    pipeline_.sweep(*until);
  } else if (pipeline_.sweeping()) {
    pipeline_.end_sweep();  // who was merged for has gone on, or a rank has come
  }
  if (!whole || !pipeline_.swept()) return false;
  for (auto& [id, waiter] : waiters_) {
    if (waiter.step == Step::sweep) drain(id, waiter);
  }
  pipeline_.end_sweep();
  return true;
}

// Whose mark is behind the first place that is still here waits for others, not others for it.
bool Requests::ahead(ChannelId channel) const {
  if (!merging_ || now_ns_ >= pipeline_.swept_ns() + hold_back_ns) return false;
  const auto who = std::ranges::find(members_, channel, &Member::channel);
  return who != members_.end() && who->upstream && who->mark > pipeline_.lowest_unswept();
}

}  // namespace millrace::agent
