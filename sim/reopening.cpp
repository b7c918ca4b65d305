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

bool settle(Cluster& cluster, const Opening& opening) {
  const Scenario& scenario = cluster.scenario;
  io::Timeline& timeline = cluster.world.timeline;
  const std::string path = "/proc/self/fd/" + std::to_string(cluster.file.file().get());
  cluster.settling.clear();
  cluster.beside.clear();
  for (std::uint32_t n = 0; n < scenario.nodes; ++n) {
    cluster.settling.push_back(std::make_unique<Settling>(*cluster.nodes[n],
                                                          scenario.only_programs_die() && !scenario.stands_in,
                                                          cluster.settings_of(n), path));
  }
  for (const auto& one : cluster.settling)
    timeline.after(cluster.world.moment_ns(), [&one] { one->begin(); });
  // A user's command on each node, at the same time.
  for (std::uint32_t n = 0; n < scenario.nodes && keeps_ledger(scenario.settings) && timeline.chance(2); ++n)
    cluster.beside.push_back(std::make_unique<Recovering>(*cluster.nodes[n], ""));
  if (opening.recovery_dies_ns > 0)
    timeline.after(opening.recovery_dies_ns,
                   [&cluster, n = opening.recovery_node] { cluster.settling[n]->kill_recovery(); });
  const bool settled = cluster.step_until(cluster.world.now_ns() + bound_ns, [&cluster] {
    const auto over = [](const auto& one) { return one->over(); };
    return std::ranges::all_of(cluster.settling, over) && std::ranges::all_of(cluster.beside, over);
  });
  if (!settled) cluster.judge.problem("what was left is not settled");
  for (std::uint32_t n = 0; n < scenario.nodes; ++n) {
    if (const std::string& said = cluster.settling[n]->problem(); !said.empty())
      cluster.judge.problem("node " + std::to_string(n) + " cannot settle: " + said);
  }
  return settled;
}

// Starts a new agent on each node whose agent has died. `all`: on every node, once all agents are idle.
bool replace_agents(Cluster& cluster, bool all) {
  if (all &&
      !cluster.step_until(cluster.world.now_ns() + bound_ns, [&cluster] { return cluster.all_idle(); })) {
    cluster.judge.problem("the agents do not come to rest before the file is opened again");
    return false;
  }
  for (std::uint32_t n = 0; n < cluster.nodes.size(); ++n) {
    Node& node = *cluster.nodes[n];
    if (all && node.named()) node.leave();
    if (node.named() || cluster.scenario.agents.start) continue;
    cluster.world.note(n, "another agent");
    node.restart();
  }
  return true;
}

}  // namespace

bool open_again(Cluster& cluster, const Opening& opening) {
  Scenario& scenario = cluster.scenario;
  Job& job = cluster.job;
  cluster.faults.calm(opening.after_ns);
  for (Rank& rank : job.ranks()) rank.let_go(opening);
  cluster.befall(opening.before);
  cluster.world.disk.mount_again();  // a device number is a hint
  if (!settle(cluster, opening)) return false;
  // A process of another job on each node has asked the agents, before it opens the file. Stand-ins are asked
  // for by the agent's own ranks only.
  if (!scenario.stands_in) job.acknowledge_killed();
  cluster.judge.check_file(" before it is opened again");
  if (!replace_agents(cluster, !opening.keeps_agents)) return false;
  if (!opening.keeps_agents || opening.faults.empty()) job.acknowledge_killed();
  cluster.judge.begin_again();
  cluster.faults.begin_again();
  static_cast<Play&>(scenario) = opening;
  job.begin_again();
  cluster.file.begin_opening();
  return job.connect();
}

}  // namespace millrace::sim
