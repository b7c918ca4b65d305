// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include <algorithm>
#include <filesystem>
#include <string>

#include "times.hpp"

namespace millrace::sim {

Cluster::Cluster(const Scenario& made, bool keep_trace)
    : scenario(made),
      world(scenario, keep_trace),
      file(scenario, world),
      judge(scenario, world, outcome),
      job(*this),
      faults(*this) {
  for (std::uint32_t n = 0; n < scenario.nodes; ++n) {
    const std::string journals = file.folder() + "/" + std::to_string(n);
    std::filesystem::create_directory(journals);
    nodes.push_back(std::make_unique<Node>(world, n, scenario, journals));
  }
}

Cluster::~Cluster() {
  for (Rank& rank : job.ranks()) rank.vanish();
}

Settings Cluster::settings_of(std::uint32_t node) const {
  Settings settings = scenario.ranks.settings;
  settings.timeout_ms = scenario.ranks.patience_ns / ms;
  settings.journal_directory = nodes[node]->journals();
  return settings;
}

bool Cluster::all_idle() const {
  return std::ranges::all_of(nodes, [](const auto& node) { return node->idle(); });
}

// Calls `done` only now and then, because `done` looks at each rank.
bool Cluster::step_until(std::uint64_t until_ns, const std::function<bool()>& done) {
  while (!done()) {
    for (std::size_t i = 0; i < job.ranks().size(); ++i) {
      if (++steps > scenario.most_steps || !world.timeline.step(until_ns)) return done();
    }
  }
  return true;
}

// Ranks have saved their rings before: recovery refuses a lone rescue with a date before the file's last
// change.
void Cluster::befall(const Meanwhile& meanwhile) {
  for (const auto& node : nodes) date_rescues(world.disk, node->journals());
  file.befall(meanwhile, judge.oracle());
}

}  // namespace millrace::sim
