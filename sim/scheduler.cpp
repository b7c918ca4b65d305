// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "draws.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {

bool syncs(const Step& step) { return step.kind == Step::Kind::sync; }
bool ends_phase(const Step& step) { return step.kind == Step::Kind::sync || step.kind == Step::Kind::arrive; }

// The step with this number among those that `is` accepts.
template <class Is>
std::vector<Step>::iterator nth(std::vector<Step>& program, std::uint64_t number, Is is) {
  auto place = std::ranges::find_if(program, is);
  for (; number > 0; --number) place = std::find_if(place + 1, program.end(), is);
  return place;
}

std::uint32_t some_node(Dice& dice, const Scenario& scenario) {
  return static_cast<std::uint32_t>(dice.below(scenario.nodes));
}

// The last rank writes without end. All other ranks wait in a sync, so the agents merge and wait for the last
// rank. The first node is killed meanwhile.
void add_long_merge(Dice& dice, Scenario& scenario) {
  constexpr std::uint64_t between_ns = 200 * ms;
  const std::uint64_t cell = scenario.file_bytes / scenario.programs.size();
  const std::uint64_t lasts_ns = dice.between(50, 70) * second;
  scenario.faults = {{FaultKind::kill_group, dice.between(30, 45) * second, 0, 0}};
  scenario.later.clear();
  for (std::uint64_t rank = 0; rank < scenario.programs.size(); ++rank) {
    const bool last = rank + 1 == scenario.programs.size();
    std::vector<Step> steps;
    for (std::uint64_t at_ns = 0; at_ns < (last ? lasts_ns : 1); at_ns += between_ns) {
      const std::uint64_t begin = rank * cell + dice.below(cell);
      steps.push_back({Step::Kind::write, 1, {begin, begin + dice.between(1, (rank + 1) * cell - begin)}});
      if (last) steps.push_back({Step::Kind::rest, 1, {}, between_ns});
    }
    for (const Step::Kind kind : {Step::Kind::sync, Step::Kind::barrier, Step::Kind::close})
      steps.push_back({kind});
    scenario.programs[rank] = std::move(steps);
  }
}

}  // namespace

void add_merge(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x3E26E);
  const bool fits = scenario.nodes > 1 && scenario.settings.strategy == Strategy::sort &&
                    scenario.settings.durability != Durability::node && !scenario.conduct.apart &&
                    !scenario.stage;
  if (fits && dice.one_in(8)) add_long_merge(dice, scenario);
}

void add_rest(Dice& dice, Scenario& scenario, std::uint64_t least_ns, std::uint64_t most_ns) {
  const auto phases = std::ranges::count_if(scenario.programs.front(), ends_phase);
  if (phases == 0) return;
  const std::uint64_t phase = dice.below(static_cast<std::uint64_t>(phases));
  const std::uint64_t for_ns = dice.between(least_ns, most_ns);
  for (auto& program : scenario.programs)
    program.insert(nth(program, phase, ends_phase), {Step::Kind::rest, 1, {}, for_ns});
}

void add_scheduler(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x5C4ED);
  if (dice.one_in(8)) {
    scenario.faults = {{FaultKind::kill_group, dice.between(30, 60) * second, 0, some_node(dice, scenario)}};
    if (!scenario.later.empty()) scenario.later.front().keeps_ranks = false;
    add_rest(dice, scenario, 40 * second, 70 * second);
  } else if (dice.one_in(16)) {
    add_rest(dice, scenario, 40 * second, 70 * second);
  }
  if (!dice.one_in(6)) return;
  const bool all = dice.one_in(2);
  const std::uint32_t one = some_node(dice, scenario);
  const std::uint64_t at_ns = dice.magnitude(ms / 100, 2 * second);
  for (std::uint32_t node = 0; node < scenario.nodes; ++node) {
    if (all || node == one) scenario.faults.push_back({FaultKind::terminate_agent, at_ns, 0, node});
  }
}

// Every rank gets one more barrier. The late rank has it before the step, the other ranks after the step.
void add_latecomer(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x1A7EC);
  if (scenario.programs.size() == 1 || !dice.one_in(6)) return;
  const auto phases = static_cast<std::uint64_t>(std::ranges::count_if(scenario.programs.front(), syncs));
  const std::uint64_t phase = dice.below(phases + 1);  // the last phase is the close
  const std::uint64_t late = dice.below(scenario.programs.size());
  for (std::uint64_t rank = 0; rank < scenario.programs.size(); ++rank) {
    std::vector<Step>& program = scenario.programs[rank];
    const auto place = phase < phases ? nth(program, phase, syncs) : program.end() - 1;
    program.insert(rank == late ? place : place + 1, {Step::Kind::barrier});
  }
}

}  // namespace millrace::sim
