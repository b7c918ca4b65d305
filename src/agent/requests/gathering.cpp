// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "agent/requests/gathering.hpp"

#include <algorithm>

namespace millrace::agent {

// With these strategies, an agent keeps its records until a request. It sends nothing while it waits for its
// own ranks and its own agents upstream.
bool Gathering::upstreams_hold() const {
  const Strategy strategy = pipeline_.settings().strategy;
  return strategy == Strategy::sort || strategy == Strategy::journal;
}

bool Gathering::asked_too(const Member& other, const Asker& asker) {
  return other.group != asker.group || other.sender == asker.sender || other.closing ||
         (asker.kind == transport::Kind::sync && other.round >= asker.round);
}

std::uint64_t Gathering::until_ns(const Asker& asker) const {
  std::uint64_t until = 0;
  // Ranks of the group have not opened the file yet, and many chunks would be complete after they have
  // written.
  if (members_.lacks(asker.group) && pipeline_.worth_gathering()) until = asker.start_ns + silence_ns;
  if (members_.awaited() > 0 && upstreams_hold()) until = asker.start_ns + longest_ns;
  for (const Member& m : members_.opens()) {
    if (asked_too(m, asker)) continue;
    std::uint64_t heard = m.sender < senders_.size() ? senders_[m.sender].last_ns : 0;
    if (m.upstream) heard = std::max(heard, pipeline_.sweep().moved_ns());  // this agent may hold it back
    heard = std::max(asker.start_ns, heard);
    // While an agent upstream sends, its records may be older than the sync, because the link takes time to
    // carry them. The wait for it therefore begins anew with each record.
    until = std::max(until, m.upstream ? heard + (upstreams_hold() ? longest_ns : silence_ns)
                                       : std::min(heard + silence_ns, asker.start_ns + longest_ns));
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
