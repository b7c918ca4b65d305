// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/gathering.hpp"

#include <algorithm>

namespace millrace::agent {

namespace {

constexpr std::uint64_t silence_ns = 100'000'000;  // then the wait leaves out a silent rank
constexpr std::uint64_t worth_waiting_bytes = 8 * MiB;
constexpr std::uint64_t gather_max_ns = 2'000'000'000;  // and no rank for longer than this
// An agent whose records still come in has a link's bandwidth between its ranks and here.
constexpr std::uint64_t gather_upstream_max_ns = 600'000'000'000;

}  // namespace

// Some agents upstream keep their records until they are asked, so that the records of all of them leave as
// one run. They are silent while they wait for their own ranks and upstreams.
bool Gathering::upstreams_hold() const {
  const Strategy strategy = pipeline_.settings().strategy;
  return strategy == Strategy::sort || strategy == Strategy::journal;
}

bool Gathering::asked_too(const Member& other, const Asker& asker) {
  return other.group != asker.group || other.channel == asker.channel || other.closing ||
         (asker.kind == transport::Kind::sync && other.round >= asker.round);
}

std::uint64_t Gathering::until_ns(const Asker& asker) const {
  std::uint64_t until = 0;
  // Ranks that have the file open have not come yet, and much would leave complete if they did.
  if (members_.lacks(asker.group) && pipeline_.claims().partial_bytes >= worth_waiting_bytes)
    until = asker.start_ns + silence_ns;
  if (members_.awaited() > 0 && upstreams_hold()) until = asker.start_ns + gather_max_ns;
  for (const Member& m : members_.opens()) {
    if (asked_too(m, asker)) continue;
    std::uint64_t heard = m.channel < channels_.size() ? channels_[m.channel].last_ns : 0;
    if (m.upstream) heard = std::max(heard, pipeline_.sweep().moved_ns());  // it may have to wait for us
    const std::uint64_t longest = m.upstream ? gather_upstream_max_ns : gather_max_ns;
    const std::uint64_t silence = m.upstream && upstreams_hold() ? gather_max_ns : silence_ns;
    until = std::max(until, std::min(std::max(asker.start_ns, heard) + silence, asker.start_ns + longest));
  }
  return until;
}

bool Gathering::merges() const {
  return upstreams_hold() && (pipeline_.carries() || members_.upstreams_seen() > 0 || members_.awaited() > 0);
}

std::optional<std::uint64_t> Gathering::merges_until(const Asker& asker) const {
  if (members_.awaited() > 0) return std::nullopt;
  std::uint64_t until = UINT64_MAX;
  for (const Member& m : members_.opens()) {
    if (asked_too(m, asker)) continue;
    if (!m.upstream) return std::nullopt;
    until = std::min(until, m.mark);
  }
  return until;
}

}  // namespace millrace::agent
