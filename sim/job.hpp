// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "rank.hpp"
#include "staging.hpp"
#include "virtual_team.hpp"

namespace millrace::sim {

struct Cluster;

// The ranks of a run, and what they do together. Owned by Cluster. Not thread safe.
class Job {
 public:
  explicit Job(Cluster& cluster);

  std::deque<Rank>& ranks() { return ranks_; }
  // Starts processes for ranks that have none. False: one cannot connect.
  bool connect();
  // The first opening, before any fault. False: an open failed.
  bool open_first();
  // Runs the programs of the ranks, and the faults. False: some programs do not end.
  bool play();
  // True if all ranks are at their ends, or have died.
  bool is_over() const;
  // A rank waits, or has died: those that wait for it look again.
  void release();
  // The ranks of the node die.
  void kill(std::uint32_t node);
  // Returned writes of dead ranks are promised: agents are idle, or a new open has asked them.
  void acknowledge_killed();
  // The next programs begin.
  void begin_again();

  // True if ranks have met and one of them had an error, so no rank writes any more.
  bool has_failed() const { return failed_; }
  // True if a rank had written when they last met.
  bool has_written() const { return written_; }
  // For an open with this number. The first rank that arrives makes it.
  Assembly& assembly(std::size_t number);
  // Likewise, for the staging of this opening.
  Staging& staging();
  const std::vector<std::unique_ptr<Staging>>& stagings() const { return stagings_; }

 private:
  std::vector<Seat*> seats(bool all) const;

  Cluster& cluster_;
  std::deque<Rank> ranks_;
  std::vector<std::unique_ptr<Assembly>> assemblies_;  // one for each time that the programs open the file
  std::vector<std::unique_ptr<Staging>> stagings_;     // so far; the last one may still go on
  bool failed_ = false;
  bool written_ = false;
};

}  // namespace millrace::sim
