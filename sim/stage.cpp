// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "stage.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "draws.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {

Stage make_stage(Dice& dice) {
  Stage stage;
  stage.bytes = dice.one_in(8) ? dice.magnitude(1, 16 * KiB) : dice.magnitude(16 * KiB, 4 * MiB);
  if (!dice.one_in(3)) return stage;
  stage.harm = dice.pick(
      {Stage::Harm::rewritten, Stage::Harm::cut_short, Stage::Harm::grown, Stage::Harm::unreadable});
  stage.harm_at = dice.below(stage.bytes + 1);
  stage.harm_after_ns = dice.one_in(2) ? 0 : dice.magnitude(ms / 100, 200 * ms);
  return stage;
}

bool is_collective(const Step& step) {
  return step.kind != Step::Kind::write && step.kind != Step::Kind::read && step.kind != Step::Kind::direct &&
         step.kind != Step::Kind::pipeline;
}

// Inserts the step after this many barriers and before the next one. At that point all ranks are between the
// same two collective functions. A rank may have written before the point, or may write after it.
void insert(Dice& dice, std::vector<Step>& program, std::uint64_t barriers) {
  auto first = program.begin();
  for (; barriers > 0; ++first) barriers -= first->kind == Step::Kind::barrier ? 1 : 0;
  const auto last = std::find_if(first, program.end(), is_collective);
  const std::uint64_t place = dice.below(static_cast<std::uint64_t>(last - first) + 1);
  program.insert(first + static_cast<std::ptrdiff_t>(place), {Step::Kind::stage});
}

void stage_some(Dice& dice, Play& play) {
  if (!dice.one_in(4)) return;
  const auto barriers = std::ranges::count(play.programs.front(), Step::Kind::barrier, &Step::kind);
  // Programs mostly read their input first.
  const std::uint64_t after = dice.one_in(2) ? 0 : dice.below(static_cast<std::uint64_t>(barriers) + 1);
  for (auto& program : play.programs) insert(dice, program, after);
  play.stage = make_stage(dice);
}

}  // namespace

std::string Stage::describe() const {
  std::string text = "\n  stages a file of " + std::to_string(bytes) + " bytes";
  if (harm == Harm::none) return text;
  constexpr const char* words[] = {"", "rewritten", "cut short", "grown", "unreadable"};
  return text + ", which is " + words[static_cast<std::size_t>(harm)] + " at " + std::to_string(harm_at) +
         " of them, after " + std::to_string(harm_after_ns / 1000) + " us";
}

void add_stages(Scenario& scenario) {
  if (scenario.nodes == 1) return;
  Dice dice(scenario.seed ^ 0x57A6E);
  stage_some(dice, scenario);
  for (Opening& opening : scenario.later) stage_some(dice, opening);
}

}  // namespace millrace::sim
