// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "draws.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {

std::vector<Step> with_thought(Dice& dice, const std::vector<Step>& program) {
  std::vector<Step> made;
  for (const Step& step : program) {
    if ((step.kind == Step::Kind::write && dice.one_in(4)) || step.kind == Step::Kind::barrier)
      made.push_back({Step::Kind::rest, 1, {}, dice.magnitude(20 * us, 5 * ms)});
    made.push_back(step);
  }
  return made;
}

Extent some_bytes(Dice& dice, const Scenario& scenario) {
  const std::uint64_t begin = dice.below(scenario.file_bytes);
  const std::uint64_t most = std::min<std::uint64_t>(scenario.file_bytes - begin, 2 * KiB);
  return {begin, begin + dice.magnitude(1, most)};
}

// A rank starts an agent at its first write. The agent dies soon after.
void kill_first_agent(Dice& dice, Scenario& scenario) {
  scenario.agents.start->costs_ps = 1;
  scenario.faults = {
      {FaultKind::kill_agent, scenario.agents.start->takes_ns + dice.between(20 * ms, 60 * ms)}};
  scenario.later.clear();
}

// The first rank writes through an agent, which dies. The last rank starts another agent. The first rank,
// which does not know that, writes into the ring of the dead agent, and saves that at its sync or collective
// function. No rank looks at errors. The last rank then writes the same bytes through its agent.
void add_saved_ring(Dice& dice, Scenario& scenario) {
  const std::size_t last = scenario.programs.size() - 1;
  const Extent before = some_bytes(dice, scenario), other = some_bytes(dice, scenario);
  const Extent twice = some_bytes(dice, scenario);
  kill_first_agent(dice, scenario);
  scenario.conduct.unable.clear();
  scenario.conduct.heedless = true;
  const Step meet{Step::Kind::barrier}, sync{Step::Kind::sync};
  const Step saves{Dice(scenario.seed ^ 0xA551).one_in(2) ? Step::Kind::sync : Step::Kind::arrive};
  for (std::size_t rank = 0; rank <= last; ++rank) {
    std::vector<Step> steps;
    const auto also = [&](std::initializer_list<Step> more) { steps.insert(steps.end(), more); };
    if (rank == 0) also({{Step::Kind::write, 1, before}});
    also({meet, {Step::Kind::rest, 1, {}, 60 * ms}});
    if (rank == last) also({{Step::Kind::write, 1, other}});
    also({meet});
    if (rank == 0) also({{Step::Kind::write, 1, twice}});
    also({saves, meet});
    if (rank == last) also({{Step::Kind::write, 1, twice}});
    also({sync, meet, {Step::Kind::close}});
    scenario.programs[rank] = std::move(steps);
  }
}

// The first rank writes, and its bytes are in the file. The agent dies without any bytes. The last rank had
// not joined that agent. It starts another one, and writes. The first rank reads these bytes, or overwrites
// them. The programs write no more after that, because bytes in the ring of a dead agent are lost, and their
// writer gets the error only at its next request.
void add_second_agent(Dice& dice, Scenario& scenario) {
  const std::size_t last = scenario.programs.size() - 1;
  const Extent before = some_bytes(dice, scenario);
  const Extent after = dice.one_in(2) ? before : some_bytes(dice, scenario);
  const bool overwrites = dice.one_in(2);
  kill_first_agent(dice, scenario);
  for (std::size_t rank = 0; rank <= last; ++rank) {
    std::vector<Step> steps;
    if (rank == 0) steps = {{Step::Kind::write, 1, before}, {Step::Kind::read, 1, before}};
    if (rank == 0 && overwrites) steps.push_back({Step::Kind::direct});
    steps.insert(steps.end(),
                 {{Step::Kind::arrive}, {Step::Kind::barrier}, {Step::Kind::rest, 1, {}, 60 * ms}});
    if (rank == last) steps.push_back({Step::Kind::write, 1, after});
    steps.insert(steps.end(), {{Step::Kind::arrive}, {Step::Kind::barrier}});
    if (rank == 0) steps.push_back({overwrites ? Step::Kind::write : Step::Kind::read, 1, after});
    steps.insert(steps.end(), {{Step::Kind::arrive}, {Step::Kind::barrier}, {Step::Kind::close}});
    scenario.programs[rank] = std::move(steps);
  }
}

}  // namespace

// Most runs have strategy auto, whose account decides about the start. A piece saves at most the time of one
// write of the MPI library. So with the three costs of a write, pieces of up to 10, 90 or 900 KiB save time.
void set_start(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x5FE92);
  if (scenario.nodes > 1 || dice.one_in(3)) return;
  scenario.ranks_per_node = std::max(scenario.ranks_per_node, 2U);
  scenario.agents.start = {dice.magnitude(50 * us, 20 * ms), dice.magnitude(3 * us, ms) * 1'000,
                           dice.pick<std::uint64_t>({3'400'000, 30'000'000, 300'000'000})};
  if (!dice.one_in(3)) scenario.settings.strategy = Strategy::automatic;
}

void add_thought(Scenario& scenario) {
  if (!scenario.agents.start) return;
  Dice dice(scenario.seed ^ 0x7409);
  for (auto& program : scenario.programs) program = with_thought(dice, program);
  for (Opening& opening : scenario.later)
    for (auto& program : opening.programs) program = with_thought(dice, program);
  if (dice.one_in(3)) return;
  if (scenario.settings.strategy == Strategy::journal && dice.one_in(2))
    return add_saved_ring(dice, scenario);
  if (dice.one_in(3)) return add_second_agent(dice, scenario);
  // Soon after the agent's start, while some ranks have not joined it.
  const std::uint64_t at_ns = scenario.agents.start->takes_ns + dice.magnitude(ms, 50 * ms);
  scenario.faults.push_back({FaultKind::kill_agent, at_ns});
}

}  // namespace millrace::sim
