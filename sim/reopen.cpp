// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Cluster: between two openings of the file. Dead processes start again, and the logs that are left are
// settled. Then programs open the file themselves.
#include <algorithm>
#include <utility>

#include "cluster.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {
constexpr std::uint64_t bound_ns = 800 * second;  // for all waits together
}  // namespace

// A process whose agent has died writes without an agent from then on. So a new process takes the rank's
// place.
bool Cluster::stays(const Rank& rank, const Opening& next) {
  return next.keeps_ranks && !rank.gone && !rank.process->lost();
}

bool Cluster::all_settled() const {
  const auto over = [](const auto& one) { return one->over(); };
  return std::ranges::all_of(settling_, over) && std::ranges::all_of(beside_, over);
}

bool Cluster::open_again(const Opening& opening) {
  calm(opening.after_ns);
  for (Rank& rank : ranks_) {
    rank.file = nullptr;
    rank.second = nullptr;
    if (rank.handle) (void)rank.process->library().close(*rank.handle);
    rank.handle.reset();
    if (!stays(rank, opening) || !rank.process->has_lost_none()) rank.process = nullptr;
  }
  befall(opening.before);
  disk_.mount_again();  // a device number is a hint
  if (!settle(opening)) return false;
  // A process of another job on each node has asked the agents, before it opens the file. Stand-ins are asked
  // for by the agent's own ranks only.
  if (!scenario_.stands_in) acknowledge_killed();
  judge(disk_.contents(0), scenario_.loses_caches(), "the file that is opened again");
  judge(disk_.stable(0), true, "what is on the disk before the file is opened again");
  if (!replace_agents(!opening.keeps_agents)) return false;
  if (!opening.keeps_agents || opening.faults.empty()) acknowledge_killed();
  begin_again(opening);
  count_opening();
  return connect_all();
}

// Ends the faults that have begun, and cancels the others.
void Cluster::calm(std::uint64_t after_ns) {
  for (const io::Timeline::Event& fault : planned_) timeline_.cancel(fault);
  planned_.clear();
  bool passed = false;
  timeline_.at(std::max(timeline_.now_ns(), calm_ns_) + after_ns, [&passed] { passed = true; });
  while (!passed) (void)timeline_.step();
  disk_.faults().repair();
  net_.repair();
}

bool Cluster::settle(const Opening& opening) {
  settling_.clear();
  beside_.clear();
  for (std::uint32_t n = 0; n < scenario_.nodes; ++n) {
    settling_.push_back(
        std::make_unique<Settling>(world(), *nodes_[n], scenario_.only_programs_die() && !scenario_.stands_in,
                                   n, settings_of(n), "/proc/self/fd/" + std::to_string(file_.get())));
  }
  for (const auto& one : settling_) timeline_.after(timeline_.below(think_ns), [&one] { one->begin(); });
  // A user's command on each node, at the same time.
  for (std::uint32_t n = 0; n < scenario_.nodes && keeps_ledger(scenario_.settings) && timeline_.chance(2);
       ++n)
    beside_.push_back(std::make_unique<Recovering>(world(), n, nodes_[n]->journals(), "", [] {}));
  if (opening.recovery_dies_ns > 0)
    timeline_.after(opening.recovery_dies_ns,
                    [this, n = opening.recovery_node] { settling_[n]->kill_recovery(); });
  const bool settled = step_until(timeline_.now_ns() + bound_ns, &Cluster::all_settled);
  if (!settled) problem("what was left is not settled");
  for (std::uint32_t n = 0; n < scenario_.nodes; ++n) {
    if (!settling_[n]->problem().empty())
      problem("node " + std::to_string(n) + " cannot settle: " + settling_[n]->problem());
  }
  return settled;
}

// Starts a new agent on each node whose agent has died. `all`: on every node, once all agents are idle.
bool Cluster::replace_agents(bool all) {
  if (all && !step_until(timeline_.now_ns() + bound_ns, &Cluster::all_idle)) {
    problem("the agents do not come to rest before the file is opened again");
    return false;
  }
  for (std::uint32_t n = 0; n < scenario_.nodes; ++n) {
    Node& node = *nodes_[n];
    if (all && node.listens()) node.leave();
    if (node.listens() || scenario_.agents.start) continue;
    trace_.note(timeline_.now_ns(), n, "another agent");
    node.restart();
  }
  return true;
}

void Cluster::begin_again(const Opening& opening) {
  oracle_.begin_again(scenario_.loses_caches());
  disk_failed_ |= scenario_.disk_fails();
  scenario_.programs = opening.programs;
  scenario_.stage = opening.stage;
  scenario_.faults = opening.faults;
  crashed_ = failed_ = false;
  old_errors_ = errors_;
  for (Rank& rank : ranks_) {
    rank.program = &scenario_.programs[rank.number];
    rank.step = 0;
    rank.opened = assemblies_.size();
    rank.at_barrier = rank.over = rank.gone = rank.closed = false;
    rank.error = {};
  }
}

}  // namespace millrace::sim
