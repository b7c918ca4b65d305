// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "agent/links/links.hpp"
#include "agent/server/rounds.hpp"
#include "processors.hpp"

namespace millrace::sim {

// The time that an agent's rounds take: for records from rings and links, and for bytes over the network and
// to the disk. Owned by Node. Not thread safe.
class RoundCosts {
 public:
  RoundCosts(const Costs& costs, std::uint64_t cpu_bytes_per_second)
      : costs_(costs), cpu_bytes_per_second_(cpu_bytes_per_second) {}

  // Another agent starts. `net_bytes`: those that the node has handled so far.
  void restart(std::uint64_t net_bytes);
  void join(agent::SenderId rank);
  // The time of the round that ends. The bytes are all that the node, and its agent, have handled so far.
  std::uint64_t round_ns(agent::Rounds& rounds, const agent::Links& links, std::uint64_t net_bytes,
                         std::uint64_t disk_bytes);

 private:
  // What the agent has taken from a rank's ring.
  struct Taken {
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
  };

  const Costs costs_;
  const std::uint64_t cpu_bytes_per_second_;
  std::vector<Taken> taken_;  // by sender, before this round
  std::uint64_t net_bytes_ = 0;
  std::uint64_t disk_bytes_ = 0;
  std::uint64_t link_records_ = 0;
};

}  // namespace millrace::sim
