// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/settings.hpp"
#include "client/costs/costs.hpp"
#include "client/costs/reasons.hpp"

// Decides which transfers take the pipeline: by the user's settings, or else by the expected time.
namespace millrace::client {

struct Choice {
  bool pipeline;
  Ground ground;          // for the report
  bool by_costs = false;  // the costs decided, not a setting
  Expected expected = {};
};

// The agents bring the bytes of reads in pieces below this mean size, if no file server has the file on its
// own node (ADR 24). Each byte then comes to a file server first. That pays only for small pieces: of these,
// the MPI library reads whole pages on each node, and the kernel reads ahead for each node.
inline constexpr std::uint64_t small_read_bytes = 64 * KiB;

Choice choose(const Settings& process, const FileSettings& file, const Transfer& transfer,
              const Costs& costs);

// The size in bytes from which a contiguous piece goes to the MPI library, at most a GiB. It holds for calls
// with one piece each, and without settings. `made_stable`: for a program that syncs its files.
std::uint64_t break_even(const Costs& costs, bool made_stable);

// Compares the time that the pipeline saves for the transfers of one file with its other costs: the start of
// an agent, and questions before reads. Thread safe; two threads at once may lose the count of a transfer.
class Account {
 public:
  explicit Account(const Costs& costs) : costs_(costs) {}

  // Counts a transfer that the pipeline would make faster, while there is no agent. True: such transfers
  // would by now have saved this rank's share of the agent's start, one part in `members`. A rank that waits
  // until then loses at most this share. Polling ranks delay the start as they delay all work of an agent.
  bool pays_for_start(const Expected& expected, std::uint32_t members, std::uint64_t crowding = 0);
  // The reason after that answer was false: the time that the agent would have saved, and this rank's share.
  Ground too_little(std::uint64_t piece_bytes, std::uint32_t members, std::uint64_t crowding) const;
  // Counts a transfer through the pipeline.
  void add(const Expected& expected);
  // Counts a read that has to ask the agent. False: the file's questions cost more than its transfers save.
  bool pays_for_question();

 private:
  std::uint64_t share_ps(std::uint32_t members, std::uint64_t crowding) const;

  // The questions that a file may ask before it has saved anything, and the most that it can save up.
  static constexpr std::uint64_t first_questions = 3, most_questions = 64;

  const Costs& costs_;
  std::atomic<std::uint64_t> missed_ps_{0};
  std::atomic<std::int64_t> balance_ps_{static_cast<std::int64_t>(first_questions * costs_.trip_ps)};
};

}  // namespace millrace::client
