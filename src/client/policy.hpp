// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/settings.hpp"
#include "client/costs.hpp"

// When a transfer takes the pipeline: what was asked for, else what is expected to take less time.
namespace millrace::client {

struct Choice {
  bool pipeline;
  const char* why;        // a literal, for the report
  bool by_costs = false;  // nothing was asked for: what is expected has decided
  Expected expected = {};
};

Choice choose(const Settings& process, const FileSettings& file, const Transfer& transfer,
              const Costs& costs);

// The size in bytes from which on contiguous pieces, each of a call of its own, go to the MPI library where
// nothing was asked for; no more than a GiB. `made_stable`: of a program that syncs its files.
std::uint64_t break_even(const Costs& costs, bool made_stable);

// What the pipeline saves the transfers of one file, against what it costs beside them: the start of an
// agent, and questions to it before reads. Thread safe; two threads at once may lose a transfer of it.
class Account {
 public:
  explicit Account(const Costs& costs) : costs_(costs) {}

  // A transfer that the pipeline would make faster, where no agent is at hand: by now such transfers would
  // have saved what a start costs each of `members` ranks. Whoever waits so long loses that much at most.
  // Ranks that poll delay the start as they delay all work of an agent.
  bool pays_for_start(const Expected& expected, std::uint32_t members, std::uint64_t crowding = 0);
  // A transfer through the pipeline.
  void add(const Expected& expected);
  // A read had to ask the agent. False: questions cost the file more than its transfers save.
  bool pays_for_question();

 private:
  // Questions that a file may ask before it has saved anything, and so many it may have saved up.
  static constexpr std::uint64_t first_questions = 3, most_questions = 64;

  const Costs& costs_;
  std::atomic<std::uint64_t> missed_ps_{0};
  std::atomic<std::int64_t> balance_ps_{static_cast<std::int64_t>(first_questions * costs_.trip_ps)};
};

}  // namespace millrace::client
