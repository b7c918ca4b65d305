// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace millrace::agent {

// The links that have something to do: links with an event, and links whose deadline has passed. The cost of
// a round depends on the number of these, not on the number of all links. Not thread safe.
class Agenda {
 public:
  // The link has something to do now.
  void touch(std::uint64_t tag) { touched_.insert(tag); }
  // The link has something to do at that time, even without an event; UINT64_MAX: never.
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
  // Returns and forgets the links that have something to do now, in the order of their tags. A deadline that
  // has passed stays until set_deadline().
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
  std::map<std::uint64_t, std::uint64_t> times_;  // tag -> its time in deadlines_
};

}  // namespace millrace::agent
