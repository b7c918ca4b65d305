// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "latecomer.hpp"

#include <algorithm>

#include "dice.hpp"
#include "scenario.hpp"

namespace millrace::sim {

namespace {

bool syncs(const Step& step) { return step.kind == Step::Kind::sync; }

}  // namespace

// Every rank gets one more barrier. The late rank has it before the step, the other ranks after the step.
void add_latecomer(Scenario& scenario) {
  Dice dice(scenario.seed ^ 0x1A7EC);
  if (scenario.programs.size() == 1 || !dice.one_in(6)) return;
  const auto phases = static_cast<std::uint64_t>(std::ranges::count_if(scenario.programs.front(), syncs));
  const std::uint64_t phase = dice.below(phases + 1);  // the last phase is the close
  const std::uint64_t late = dice.below(scenario.programs.size());
  for (std::uint64_t rank = 0; rank < scenario.programs.size(); ++rank) {
    std::vector<Step>& program = scenario.programs[rank];
    auto place = program.end() - 1;
    if (phase < phases) place = std::ranges::find_if(program, syncs);
    for (std::uint64_t i = 0; i < phase && phase < phases; ++i)
      place = std::find_if(place + 1, program.end(), syncs);
    program.insert(rank == late ? place : place + 1, {Step::Kind::barrier});
  }
}

}  // namespace millrace::sim
