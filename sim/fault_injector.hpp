// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "io/virtual/timeline.hpp"
#include "scenario.hpp"

namespace millrace::sim {

struct Cluster;

// Lets the faults of a run happen at their times. Owned by Cluster. Not thread safe.
class FaultInjector {
 public:
  explicit FaultInjector(Cluster& cluster) : cluster_(cluster) {}

  // The times of these faults count from now.
  void plan(const std::vector<Fault>& faults);
  // Called at each open for reading: the times of the faults of reads count from the first one.
  void begin_reads();
  // Called when a rank of this node begins a read through the agents.
  void begin_read(std::uint32_t node);
  std::uint64_t reads() const { return reads_; }  // begun so far
  // Cancels the faults that have not begun. Returns this long after the end of the others.
  void calm(std::uint64_t after_ns);
  // True if an agent, or a node with it, has died in this opening.
  bool has_crashed() const { return crashed_; }
  void begin_again() { crashed_ = false; }

 private:
  void befall(const Fault& fault);
  void crash(std::uint32_t node, bool host, bool ranks);

  Cluster& cluster_;
  std::vector<io::Timeline::Event> planned_;
  std::uint64_t calm_ns_ = 0;  // the end of the faults that have begun
  bool crashed_ = false;
  bool reads_began_ = false;
  std::uint64_t reads_ = 0;
};

}  // namespace millrace::sim
