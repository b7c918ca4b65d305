// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace millrace::agent {

// Which links have something to do: those that something has happened to, and those whose time has come. A
// round of the agent costs what happens in it, however many links there are. Not thread safe.
class Agenda {
 public:
  // Something has happened to it.
  void touch(std::uint64_t tag) { touched_.insert(tag); }
  // It has something to do then even if nothing happens; UINT64_MAX: never.
  void set_deadline(std::uint64_t tag, std::uint64_t time_ns) {
    std::uint64_t& known = times_.emplace(tag, UINT64_MAX).first->second;
    if (known == time_ns) return;
    if (known != UINT64_MAX) deadlines_.erase({known, tag});
    if (time_ns != UINT64_MAX) deadlines_.insert({time_ns, tag});
    known = time_ns;
  }
  void forget(std::uint64_t tag) {
    touched_.erase(tag);
    set_deadline(tag, UINT64_MAX);
    times_.erase(tag);
  }
  // All that have something to do now, in the order of their tags.
  std::vector<std::uint64_t> take(std::uint64_t now_ns) {
    for (auto due = deadlines_.begin(); due != deadlines_.end() && due->first <= now_ns; ++due)
      touched_.insert(due->second);
    std::vector<std::uint64_t> taken(touched_.begin(), touched_.end());
    touched_.clear();
    return taken;
  }
  std::uint64_t deadline_ns() const { return deadlines_.empty() ? UINT64_MAX : deadlines_.begin()->first; }

 private:
  std::set<std::uint64_t> touched_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> deadlines_;
  std::map<std::uint64_t, std::uint64_t> times_;  // by tag: as they are in deadlines_
};

}  // namespace millrace::agent
