// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "draws.hpp"

namespace millrace::sim {

namespace {

bool writes(const Step& step) { return step.kind == Step::Kind::write; }

// The onlooker reads the whole file after each point at which the ranks have ordered their writes.
std::vector<Step> looking_on(std::vector<Step> program, std::uint64_t file_bytes) {
  std::erase_if(program, writes);
  std::vector<Step> made;
  for (std::size_t i = 0; i < program.size(); ++i) {
    made.push_back(program[i]);
    if (i > 0 && program[i - 1].kind == Step::Kind::arrive && program[i].kind == Step::Kind::barrier)
      made.push_back({Step::Kind::read, 1, {0, file_bytes}});
  }
  return made;
}

// Before the last close, the other ranks write a few bytes into each lane, which the onlooker reads. Some
// ranks close meanwhile.
void add_writes_to_all_lanes(Dice& dice, Scenario& scenario) {
  const std::uint64_t lanes = scenario.plan.lanes, stripe = scenario.plan.stripe_bytes;
  const bool meanwhile = dice.one_in(2);
  scenario.file_bytes = std::max(scenario.file_bytes, lanes * stripe);
  for (std::uint64_t rank = 0; rank < scenario.programs.size(); ++rank) {
    const bool looks_on = scenario.conduct.onlooker == rank;
    const std::uint64_t begin = rank % lanes * stripe + rank * 4 * KiB;
    std::vector<Step> steps;
    if (!looks_on) steps.push_back({Step::Kind::write, 1, {begin, begin + dice.between(1, 4 * KiB)}});
    steps.push_back({Step::Kind::arrive});
    steps.push_back({Step::Kind::barrier});
    if (looks_on) steps.push_back({Step::Kind::read, 1, {0, scenario.file_bytes}});
    if (!meanwhile) steps.push_back({Step::Kind::barrier});
    std::vector<Step>& program = scenario.programs[rank];
    program.insert(program.end() - 1, steps.begin(), steps.end());
  }
}

}  // namespace

// A rank that cannot join does not ask for bytes on other nodes: with several nodes, all ranks leave such a
// file to the MPI library.
void add_guests(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x5A5A5A5A);
  scenario.conduct.second_handles = !scenario.stands_in && dice.one_in(4);
  scenario.conduct.unable.resize(scenario.programs.size());
  if (scenario.nodes > 1 || dice.one_in(4)) return;
  for (auto&& one : scenario.conduct.unable) one = dice.one_in(2);
}

// The first rank of a node asks where its agent listens.
void add_onlooker(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x100CB);
  if (scenario.nodes == 1 || scenario.ranks_per_node == 1 || scenario.stands_in || scenario.conduct.apart)
    return;
  if (!dice.one_in(6)) return;
  const std::uint64_t node = dice.below(scenario.nodes);
  const std::uint64_t rank = node * scenario.ranks_per_node + dice.between(1, scenario.ranks_per_node - 1);
  scenario.conduct.onlooker = static_cast<std::uint32_t>(rank);
  scenario.programs[rank] = looking_on(std::move(scenario.programs[rank]), scenario.file_bytes);
  for (Opening& opening : scenario.later)
    opening.programs[rank] = looking_on(std::move(opening.programs[rank]), scenario.file_bytes);
  if (scenario.plan.lanes > 1) add_writes_to_all_lanes(dice, scenario);
}

// Before the ranks compute, one rank writes. Then another rank overwrites a part of these bytes, past the
// pipeline. In some runs the ranks between them write on meanwhile, elsewhere.
void add_overwriting(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x0BE2);
  const std::size_t last = scenario.programs.size() - 1;
  if (scenario.nodes > 1 || last == 0 || !keeps_ledger(scenario.settings) ||
      !has_one_of(scenario.faults, {FaultKind::kill_group}))
    return;
  if (dice.one_in(2)) return;
  const bool joins = !Dice(scenario.seed ^ 0xD12EC7).one_in(2);
  scenario.conduct.unable.front() = false;
  scenario.conduct.unable.back() = !joins;
  const std::uint64_t begin = dice.below(scenario.file_bytes);
  const std::uint64_t size =
      dice.magnitude(1, std::min<std::uint64_t>(scenario.file_bytes - begin, 16 * KiB));
  const std::uint64_t part = dice.below(size);
  const Extent first{begin, begin + size}, later{begin + part, begin + dice.between(part + 1, size)};
  const std::uint64_t elsewhere = scenario.file_bytes;
  const std::uint64_t pieces = last > 1 && dice.one_in(2) ? dice.magnitude(1, 64) : 0;
  if (pieces > 0) scenario.file_bytes += last * 64 * KiB;
  for (std::size_t rank = 0; rank <= last; ++rank) {
    std::vector<Step> steps(3, {Step::Kind::barrier});
    for (std::uint64_t i = 0; i < pieces && rank > 0 && rank < last; ++i) {
      const std::uint64_t at = elsewhere + rank * 64 * KiB + i * KiB;
      const Step pause{Step::Kind::rest, 1, {}, dice.magnitude(1'000, 200'000)};
      steps.insert(steps.begin() + 2, {pause, {Step::Kind::write, 1, {at, at + dice.between(1, KiB)}}});
    }
    if (rank == 0) steps.insert(steps.begin() + 1, {Step::Kind::write, 1, first});
    if (rank == last) steps.insert(steps.begin() + 2, {Step::Kind::write, 1, later});
    if (rank == last && joins) steps.insert(steps.begin(), {Step::Kind::direct});
    std::vector<Step>& program = scenario.programs[rank];
    const auto rest = std::ranges::find(program, Step::Kind::rest, &Step::kind);
    program.insert(rest, steps.begin(), steps.end());
  }
}

}  // namespace millrace::sim
