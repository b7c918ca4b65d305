// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "reopening.hpp"

#include <algorithm>
#include <string>

#include "cluster.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {
constexpr std::uint64_t bound_ns = 800 * second;  // for all waits together
}  // namespace

bool Reopening::open_again(const Opening& opening) {
  Scenario& scenario = cluster_.scenario;
  Job& job = cluster_.job;
  cluster_.faults.calm(opening.after_ns);
  for (Rank& rank : job.ranks()) rank.let_go(opening);
  cluster_.befall(opening.before);
  cluster_.world.disk.mount_again();  // a device number is a hint
  if (!settle(opening)) return false;
  // A process of another job on each node has asked the agents, before it opens the file. Stand-ins are asked
  // for by the agent's own ranks only.
  if (!scenario.stands_in) job.acknowledge_killed();
  cluster_.judge.check_file(" before it is opened again");
  if (!replace_agents(!opening.keeps_agents)) return false;
  if (!opening.keeps_agents || opening.faults.empty()) job.acknowledge_killed();
  cluster_.judge.begin_again();
  cluster_.faults.begin_again();
  scenario.programs = opening.programs;
  scenario.stage = opening.stage;
  scenario.faults = opening.faults;
  job.begin_again();
  cluster_.file.begin_opening();
  return job.connect();
}

bool Reopening::is_settled() const {
  const auto over = [](const auto& one) { return one->over(); };
  return std::ranges::all_of(settling_, over) && std::ranges::all_of(beside_, over);
}

bool Reopening::settle(const Opening& opening) {
  const Scenario& scenario = cluster_.scenario;
  io::Timeline& timeline = cluster_.world.timeline;
  const std::string path = "/proc/self/fd/" + std::to_string(cluster_.file.on(0).get());
  settling_.clear();
  beside_.clear();
  for (std::uint32_t n = 0; n < scenario.nodes; ++n) {
    settling_.push_back(std::make_unique<Settling>(cluster_.world, *cluster_.nodes[n],
                                                   scenario.only_programs_die() && !scenario.stands_in, n,
                                                   cluster_.settings_of(n), path));
  }
  for (const auto& one : settling_) timeline.after(cluster_.world.moment_ns(), [&one] { one->begin(); });
  // A user's command on each node, at the same time.
  for (std::uint32_t n = 0; n < scenario.nodes && keeps_ledger(scenario.settings) && timeline.chance(2); ++n)
    beside_.push_back(std::make_unique<Recovering>(cluster_.world, n, cluster_.nodes[n]->journals(), ""));
  if (opening.recovery_dies_ns > 0)
    timeline.after(opening.recovery_dies_ns,
                   [this, n = opening.recovery_node] { settling_[n]->kill_recovery(); });
  const bool settled =
      cluster_.step_until(cluster_.world.now_ns() + bound_ns, [this] { return is_settled(); });
  if (!settled) cluster_.judge.problem("what was left is not settled");
  for (std::uint32_t n = 0; n < scenario.nodes; ++n) {
    if (const std::string& said = settling_[n]->problem(); !said.empty())
      cluster_.judge.problem("node " + std::to_string(n) + " cannot settle: " + said);
  }
  return settled;
}

// Starts a new agent on each node whose agent has died. `all`: on every node, once all agents are idle.
bool Reopening::replace_agents(bool all) {
  if (all &&
      !cluster_.step_until(cluster_.world.now_ns() + bound_ns, [this] { return cluster_.all_idle(); })) {
    cluster_.judge.problem("the agents do not come to rest before the file is opened again");
    return false;
  }
  for (std::uint32_t n = 0; n < cluster_.nodes.size(); ++n) {
    Node& node = *cluster_.nodes[n];
    if (all && node.listens()) node.leave();
    if (node.listens() || cluster_.scenario.agents.start) continue;
    cluster_.world.note(n, "another agent");
    node.restart();
  }
  return true;
}

}  // namespace millrace::sim
