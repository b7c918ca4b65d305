// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"

#include <algorithm>

#include "cluster.hpp"

namespace millrace::sim {

namespace {
constexpr std::uint64_t longest_ns = 10'000'000'000'000;  // the longest run
}  // namespace

Job::Job(Cluster& cluster) : cluster_(cluster) {
  const std::uint32_t ranks = cluster.scenario.nodes * cluster.scenario.ranks_per_node;
  for (std::uint32_t number = 0; number < ranks; ++number) ranks_.emplace_back(cluster, number);
}

bool Job::connect() {
  return std::ranges::all_of(ranks_, [](Rank& rank) {
    const Status status = rank.connect();
    if (!status.ok()) rank.problem("cannot connect: " + status.describe());
    return status.ok();
  });
}

bool Job::open_first() {
  std::size_t opening = ranks_.size();
  cluster_.file.begin_opening();
  for (Rank& rank : ranks_) {
    const auto open = [&rank, &opening] {
      const Status status = rank.writer().open();
      if (!status.ok()) rank.problem("cannot open the file: " + status.describe());
      --opening;
    };
    rank.process().seat().begin(open, cluster_.world.moment_ns());
  }
  while (opening > 0 && cluster_.world.timeline.step(longest_ns)) {
  }
  if (opening > 0) cluster_.judge.problem("the first open does not end");
  return cluster_.outcome.problems.empty();
}

bool Job::play() {
  cluster_.faults.plan(cluster_.scenario.faults);
  for (Rank& rank : ranks_) rank.process().seat().begin([&rank] { rank.live(); }, cluster_.world.moment_ns());
  if (cluster_.step_until(cluster_.world.now_ns() + longest_ns, [this] { return is_over(); })) return true;
  for (const Rank& rank : ranks_) {
    if (!rank.over() && !rank.gone())
      rank.problem("does not end: it is at step " + std::to_string(rank.step()));
  }
  return false;
}

bool Job::is_over() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.over() || rank.gone(); });
}

void Job::release() {
  if (!assemblies_.empty()) assemblies_.back()->wake();
  if (!stagings_.empty()) stagings_.back()->assembly.wake();
  if (!std::ranges::all_of(ranks_, [](const Rank& one) { return one.gone() || one.over() || one.waits(); }))
    return;
  failed_ |= !cluster_.scenario.conduct.heedless && std::ranges::any_of(ranks_, &Rank::has_failed);
  written_ = std::ranges::any_of(ranks_, [](Rank& one) { return one.writer().has_written(); });
  cluster_.judge.meet();
  for (Rank& rank : ranks_) rank.go_on();
}

void Job::kill(std::uint32_t node) {
  for (const auto& staging : stagings_) staging->copies[node].lost = true;
  for (Rank& rank : ranks_) {
    if (rank.node() == node && !rank.over()) rank.vanish();
  }
  release();
}

void Job::acknowledge_killed() {
  if (!cluster_.scenario.only_programs_die()) return;
  for (const Rank& rank : ranks_) {
    if (rank.gone()) cluster_.judge.oracle().acknowledge_finished(rank.number());
  }
}

void Job::begin_again() {
  failed_ = false;
  for (Rank& rank : ranks_) rank.begin_again(assemblies_.size());
}

std::vector<Seat*> Job::seats(bool all) const {
  std::vector<Seat*> seats;
  for (const Rank& rank : ranks_) {
    if (all || !rank.looks_on()) seats.push_back(&rank.process().seat());
  }
  return seats;
}

Assembly& Job::assembly(std::size_t number) {
  if (assemblies_.size() == number)
    assemblies_.push_back(std::make_unique<Assembly>(seats(false), cluster_.world.timeline));
  return *assemblies_[number];
}

Staging& Job::staging() {
  const std::uint32_t opening = cluster_.file.openings();
  if (stagings_.empty() || stagings_.back()->opening != opening) {
    stagings_.push_back(std::make_unique<Staging>(*cluster_.scenario.stage, opening, cluster_.scenario.nodes,
                                                  cluster_.world, seats(true)));
  }
  return *stagings_.back();
}

}  // namespace millrace::sim
