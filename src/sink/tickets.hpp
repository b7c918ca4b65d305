// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"

namespace millrace::sink {

using Ticket = std::uint64_t;  // names one put(), sync() or close() of a sink; never 0

struct Done {
  Ticket ticket = 0;
  Status status;
};

// The tickets that a sink has given out: those whose writes have not all completed, and those that are done.
// Owned by one Sink. Not thread safe.
class Tickets {
 public:
  // A ticket that is done at finish().
  Ticket give() { return next_++; }
  void finish(Ticket ticket, Status status) { done_.push_back({ticket, status}); }

  // A ticket that is done when settle() has been called for each of its writes.
  Ticket give(std::uint64_t writes) {
    open_[next_].writes = writes;
    return next_++;
  }
  void add(Ticket ticket, std::uint64_t writes) { open_[ticket].writes += writes; }
  // Counts one completed write. The ticket's status is the first error.
  void settle(Ticket ticket, Status status) {
    const auto found = open_.find(ticket);
    assert(found != open_.end() && found->second.writes > 0);
    if (found->second.status.ok()) found->second.status = status;
    if (--found->second.writes > 0) return;
    finish(ticket, found->second.status);
    open_.erase(found);
  }

  // Appends the tickets that are done since the last call.
  void take(std::vector<Done>& done) {
    done.insert(done.end(), done_.begin(), done_.end());
    done_.clear();
  }
  bool all_taken() const { return done_.empty(); }

 private:
  struct Open {
    std::uint64_t writes = 0;
    Status status;
  };

  Ticket next_ = 1;
  std::unordered_map<Ticket, Open> open_;
  std::vector<Done> done_;
};

}  // namespace millrace::sink
