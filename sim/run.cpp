// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "cluster.hpp"
#include "reopening.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {

constexpr std::uint64_t rest_ns = 700 * second;         // of the agents, after the last rank
constexpr std::uint64_t short_rest_ns = 5 * second;     // ... if there was no fault
constexpr std::uint64_t journal_batch_bytes = 2 * MiB;  // of the ledger and of the overflow

// All openings of the file. False: some programs could not begin, or do not end.
bool play(Cluster& cluster) {
  bool played = cluster.job.play();
  // A close(2) may tell one rank that bytes of another rank are lost. So closes count when all ranks have
  // closed, if no rank got an error.
  for (Rank& rank : cluster.job.ranks()) {
    if (cluster.scenario.close_fails() && rank.writer().has_closed())
      cluster.judge.acknowledge_close(rank.number());
  }
  for (const Opening& opening : cluster.scenario.later)
    played = played && open_again(cluster, opening) && cluster.job.play();
  return played;
}

// In a run without a fault there is nothing to tell.
void judge_lines(Cluster& cluster) {
  for (const auto& node : cluster.nodes) {
    for (const std::string& line : node->told())
      cluster.judge.problem("an agent told, though nothing failed: " + line);
  }
}

// The most bytes that an agent may have in flight for staged files. A copy without a name disappears with its
// last close.
std::uint64_t judge_copies(Cluster& cluster) {
  std::uint64_t most = 0;
  for (const auto& staging : cluster.job.stagings()) {
    most = std::max<std::uint64_t>(most, staging->original.bytes().size());
    for (std::size_t n = 0; n < staging->copies.size(); ++n) {
      const Staging::Copy& copy = staging->copies[n];
      if (!copy.lost && copy.file.valid() && cluster.world.disk.knows(copy.file))
        cluster.judge.problem("node " + std::to_string(n) + " keeps a copy that nobody has open");
    }
  }
  return std::min(most, client::stage_settings().sort_buffer_bytes);
}

// Checks the file before a recovery, and the memory.
void judge(Cluster& cluster) {
  const FileSettings& settings = cluster.scenario.settings;
  const bool recovers = keeps_ledger(settings);
  // With a ledger, bytes of an answered close may still be on their way.
  if (!recovers || (!cluster.faults.has_crashed() && cluster.all_idle() && !cluster.judge.has_new_errors()))
    cluster.judge.check_file("");
  if (cluster.world.disk.misuses() > 0)
    cluster.judge.problem("memory changed while it was written, or writes in flight overlapped");
  const std::uint64_t most =
      judge_copies(cluster) + settings.sort_buffer_bytes + (recovers ? 2 * journal_batch_bytes : 0);
  for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
    if (cluster.nodes[n]->most_in_flight() > most)
      cluster.judge.problem("node " + std::to_string(n) + " had more in flight than its buffers");
  }
}

// Ends all agents, also those with bytes that they could not write. Returns any order of the nodes, in which
// their logs are recovered.
std::vector<std::uint32_t> end_agents(Cluster& cluster) {
  for (const auto& node : cluster.nodes) {
    if (node->named()) node->crash(false);
  }
  cluster.befall(cluster.scenario.at_end);
  std::vector<std::uint32_t> order(cluster.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[cluster.world.timeline.below(left)]);
  return order;
}

// True if a recovery has a good reason for these words.
bool may_refuse(const Cluster& cluster, const std::string& refused) {
  const auto says = [&refused](const char* words) { return refused.find(words) != std::string::npos; };
  // A rank of the run could not bring a dead agent's ledger to the file, because the disk failed, and
  // reported that.
  return (cluster.file.is_another() && (says("is not the file of this journal") || says("no such file"))) ||
         (cluster.scenario.at_end.rewritten && says("was changed after the end of its agent")) ||
         (cluster.judge.disk_has_failed() && says("was opened for writing without"));
}

void recover(Cluster& cluster, const std::vector<std::uint32_t>& order) {
  const std::string target = cluster.file.has_moved() ? cluster.file.path() : "";
  cluster.faults.calm(0);
  for (const std::uint32_t n : order) {
    const Recovering recovering(*cluster.nodes[n], target);
    while (!recovering.over() && cluster.world.timeline.step()) {
    }
    if (recovering.status() != 0 && !may_refuse(cluster, recovering.refused()))
      cluster.judge.problem("node " + std::to_string(n) + " cannot recover: " + recovering.refused());
  }
  cluster.judge.check(cluster.world.disk.contents(0), cluster.scenario.loses_caches(), "the recovered file");
}

}  // namespace

Outcome run(const Scenario& scenario, bool keep_trace) {
  Cluster cluster(scenario, keep_trace);
  std::vector<std::uint32_t> to_recover;
  if (cluster.job.connect() && cluster.job.open_first()) {
    const bool played = play(cluster);
    const bool faultless = cluster.scenario.faultless() && scenario.later.empty();
    const std::uint64_t until_ns = cluster.world.now_ns() + (faultless ? short_rest_ns : rest_ns);
    if (played && !cluster.step_until(until_ns, [&cluster] { return cluster.all_idle(); }))
      cluster.judge.problem("the agents do not come to rest");
    if (faultless) judge_lines(cluster);
    cluster.job.acknowledge_killed();
    judge(cluster);
    if (keeps_ledger(scenario.settings)) to_recover = end_agents(cluster);
  }
  Outcome& outcome = cluster.outcome;
  outcome.hash = cluster.world.trace.hash();
  outcome.events = cluster.world.trace.events();
  outcome.moved_bytes = cluster.world.net.bytes_moved();
  outcome.ranks = static_cast<std::uint32_t>(cluster.job.ranks().size());
  if (!to_recover.empty()) recover(cluster, to_recover);
  outcome.trace = cluster.world.trace.lines();
  return std::move(outcome);
}

}  // namespace millrace::sim
