// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fault_injector.hpp"
#include "job.hpp"
#include "judge.hpp"
#include "node.hpp"
#include "recovering.hpp"
#include "run.hpp"
#include "scenario.hpp"
#include "settling.hpp"
#include "shared_file.hpp"
#include "world.hpp"

namespace millrace::sim {

// The parts of a run: its machines, its file, its ranks, their faults, and the judge. Owns them. Not thread
// safe, because all fibers run in one thread.
struct Cluster {
  Cluster(const Scenario& made, bool keep_trace);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // The settings of a process on that node.
  Settings settings_of(std::uint32_t node) const;
  bool all_idle() const;  // all agents
  // Lets events happen until `done`. False: it is not done by this time, or after too many events.
  bool step_until(std::uint64_t until_ns, const std::function<bool()>& done);
  // The events while no program has the file open.
  void befall(const Meanwhile& meanwhile);

  Scenario scenario;  // programs and faults of the current opening
  World world;
  Outcome outcome;
  SharedFile file;
  Judge judge;
  std::vector<std::unique_ptr<Node>> nodes;
  Job job;
  FaultInjector faults;
  // Before the current opening. Their events may happen later.
  std::vector<std::unique_ptr<Settling>> settling;  // by node
  std::vector<std::unique_ptr<Recovering>> beside;  // recoveries by command, beside those of `settling`
  std::uint64_t steps = 0;
};

}  // namespace millrace::sim
