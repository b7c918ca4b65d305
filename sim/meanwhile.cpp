// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include "meanwhile.hpp"

#include "draws.hpp"
#include "times.hpp"

namespace millrace::sim {

namespace {

// Programs write a file, close it, and give it its last name.
void draw_name_and_clock(Dice& dice, Meanwhile& meanwhile) {
  using Name = Meanwhile::Name;
  if (dice.one_in(3)) meanwhile.name = dice.pick({Name::changed, Name::in_another_folder});
  if (dice.one_in(2)) meanwhile.clock_back_ns = dice.magnitude(10 * second, 1200 * second);
}

}  // namespace

void add_meanwhile(Scenario& scenario) {
  Dice names(scenario.seed ^ 0x4EA3E);
  for (Opening& opening : scenario.later) draw_name_and_clock(names, opening.before);
  draw_name_and_clock(names, scenario.at_end);
  if (scenario.stands_in) return;
  Dice dice(scenario.seed ^ 0xA2E5);
  for (Opening& opening : scenario.later)
    if (dice.one_in(3)) opening.before.anew_bytes = dice.magnitude(1, scenario.file_bytes);
  if (keeps_ledger(scenario.settings) && dice.one_in(6))
    scenario.at_end.anew_bytes = dice.magnitude(1, scenario.file_bytes);
  scenario.at_end.rewritten = dice.one_in(2) && scenario.at_end.anew_bytes > 0;
}

std::string Meanwhile::describe() const {
  std::string text;
  if (anew_bytes > 0)
    text += std::string("; is ") + (rewritten ? "written by a stranger" : "made anew") + " with " +
            std::to_string(anew_bytes) + " bytes";
  if (name != Name::kept)
    text += std::string("; has another name") + (name == Name::changed ? "" : " in another folder");
  if (clock_back_ns > 0) text += "; the clock is set back by " + std::to_string(clock_back_ns / ms) + " ms";
  return text;
}

}  // namespace millrace::sim
