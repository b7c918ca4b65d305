// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent/links/links.hpp"
#include "agent/server/rounds.hpp"
#include "io/virtual/timeline.hpp"
#include "scenario.hpp"

namespace millrace::sim {

// The time that an agent's rounds take: for records from rings and links, and for bytes over the network and
// to the disk. Owned by Node. Not thread safe.
class RoundCosts {
 public:
  RoundCosts(const Costs& costs, std::uint64_t cpu_bytes_per_second)
      : costs_(costs), cpu_bytes_per_second_(cpu_bytes_per_second) {}

  // Another agent starts. `net_bytes`: those that the node has handled so far.
  void restart(std::uint64_t net_bytes) {
    net_bytes_ = net_bytes;
    disk_bytes_ = link_records_ = 0;
  }
  void join(agent::SenderId rank) {
    taken_.resize(std::max<std::size_t>(taken_.size(), rank + 1));
    taken_[rank] = {};
  }
  // The time of the round that ends. The bytes are all that the node, and its agent, have handled so far.
  std::uint64_t round_ns(agent::Rounds& rounds, const agent::Links& links, std::uint64_t net_bytes,
                         std::uint64_t disk_bytes) {
    std::uint64_t bytes = 0, records = 0;
    for (agent::SenderId rank = 0; rank < taken_.size(); ++rank) {
      const agent::Connection* const connection = rounds.find(rank);
      if (connection == nullptr) continue;
      const Taken now_taken{connection->ring().position(), connection->records()};
      bytes += now_taken.bytes - taken_[rank].bytes;
      records += now_taken.records - taken_[rank].records;
      taken_[rank] = now_taken;
    }
    const std::uint64_t carried = links.records();
    records += carried - std::exchange(link_records_, carried);
    const std::uint64_t more_ps = records * costs_.record_ps +
                                  (net_bytes - std::exchange(net_bytes_, net_bytes)) * costs_.net_byte_ps +
                                  (disk_bytes - std::exchange(disk_bytes_, disk_bytes)) * costs_.disk_byte_ps;
    return bare_round_ns + io::duration_ns(bytes, cpu_bytes_per_second_) + more_ps / 1000;
  }

 private:
  // The bytes that the agent has taken from a rank's ring.
  struct Taken {
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;
  };

  static constexpr std::uint64_t bare_round_ns = 2'000;  // the time of a round, beside its bytes

  const Costs costs_;
  const std::uint64_t cpu_bytes_per_second_;
  std::vector<Taken> taken_;  // by sender, before this round
  std::uint64_t net_bytes_ = 0;
  std::uint64_t disk_bytes_ = 0;
  std::uint64_t link_records_ = 0;
};

}  // namespace millrace::sim
