// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

// The bytes that the network carries for a read of a piece of a file that several nodes read, if no file
// server has the file on its own node (ADR 24). By the agents, each byte comes to a file server first. By the
// MPI library, the kernel of each node reads ahead at least this many bytes for a piece.
inline constexpr std::uint64_t read_ahead_bytes = 128 * KiB;
constexpr std::uint64_t carried_by_agents(std::uint64_t piece_bytes) { return 2 * piece_bytes; }
constexpr std::uint64_t carried_by_library(std::uint64_t piece_bytes) {
  return std::max(piece_bytes, read_ahead_bytes);
}

Choice choose(const Settings& process, const FileSettings& file, const Transfer& transfer,
              const Costs& costs);

// The size in bytes from which a contiguous piece goes to the MPI library, at most a GiB. It holds for calls
// with one piece each, and without settings. `made_stable`: for a program that syncs its files.
std::uint64_t break_even(const Costs& costs, bool made_stable);

// The cost of an open's entry into the pipeline depends on these. It is shared by `members` ranks of the
// node.
struct Entrance {
  std::uint32_t members = 1;
  std::uint64_t crowding = 0;  // crowding(): polling ranks delay the start as all work of an agent
  bool agent_runs = false;
};

// Decides when the transfers of one open leave the MPI library for the pipeline, which they do once. It
// compares the time that the pipeline would have saved so far with what it costs beside the transfers: the
// start of an agent, the registration of the file, and a question before each read of bytes just written. A
// rank that waits until both are equal loses at most this cost. Thread safe; two threads at once may lose the
// count of a transfer.
class Account {
 public:
  // `factors`: measured() of the last file like this one, as the ranks agreed.
  explicit Account(const Costs& costs, const Factors& factors = {})
      : costs_(costs),
        library_(factors.library != 0 ? static_cast<double>(factors.library) : 1024),
        agent_(factors.agent) {}

  // Counts a transfer that the pipeline would make faster. True: the file should enter the pipeline.
  bool pays_to_enter(const Expected& expected, const Entrance& entrance);
  // True if the pipeline makes this transfer so much faster that it alone pays: then it waits for an agent's
  // start. Smaller ones take the library meanwhile.
  bool pays_alone(const Expected& expected, const Entrance& entrance) const;
  // Counts a read, or a write that the library makes as fast. After a transfer that stayed with the library,
  // it would have to ask the agent.
  void note_question();
  // The library is about to make calls that should take `calls_ps` by the costs, on a file that has not
  // entered the pipeline.
  void library_begins(std::uint64_t calls_ps) { calls_ps_.store(calls_ps, std::memory_order_relaxed); }
  // Learns from a call that took `ns`, if it is one of these.
  void library_took(std::uint64_t ns);
  // While the file was open, the agent has taken `bytes`, in `ns` of the node.
  void agent_worked(std::uint64_t bytes, std::uint64_t ns);
  // library: the mean of taken by expected time of these calls, at most of the last 256. A call that waited
  // for a disk or a processor counts as twice as long as the others.
  // agent: of the last file like this one.
  Factors factors() const {
    return {static_cast<std::uint64_t>(library_.load(std::memory_order_relaxed)), agent_};
  }
  // Those that come from this file.
  Factors measured() const {
    return {measured_.load(std::memory_order_relaxed) != 0 ? factors().library : 0, worked_.load()};
  }
  // The reason after pays_to_enter() was false: the time that the pipeline would have saved, and its cost.
  Ground too_little(std::uint64_t piece_bytes, const Entrance& entrance) const;

 private:
  std::uint64_t cost_ps(const Entrance& entrance) const;

  const Costs& costs_;
  std::atomic<std::uint64_t> missed_ps_{0};
  std::atomic<bool> unasked_{false};  // the next read would have to ask, if its file were in the pipeline
  std::atomic<std::uint64_t> calls_ps_{0};
  std::atomic<double> library_;
  std::atomic<std::uint64_t> measured_{0};  // calls of which library_ is the mean
  const std::uint64_t agent_;
  std::atomic<std::uint64_t> worked_{0};  // the agent's factor on this file
};

}  // namespace millrace::client
