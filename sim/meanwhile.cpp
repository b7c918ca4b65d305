// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
// Cluster, and its scenarios: what happens between the programs and the recovery of their logs.
#include "meanwhile.hpp"

#include <filesystem>
#include <system_error>

#include "cluster.hpp"
#include "dice.hpp"
#include "scenario.hpp"
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

void Cluster::befall(const Meanwhile& meanwhile) {
  // Ranks have saved their rings before: recovery refuses a lone rescue with a date before the file's last
  // change.
  for (const auto& node : nodes_) date_rescues(disk_, node->journals());
  disk_.set_clock_back(meanwhile.clock_back_ns);
  if (meanwhile.name != Meanwhile::Name::kept) rename(meanwhile.name == Meanwhile::Name::in_another_folder);
  if (meanwhile.rewritten) disk_.rewrite(0, oracle_.renew(meanwhile.anew_bytes));
  if (!meanwhile.rewritten) make_anew(meanwhile.anew_bytes);
}

void Cluster::rename(bool to_another_folder) {
  namespace fs = std::filesystem;
  const std::string old = path_;
  const std::string folder =
      to_another_folder ? folder_.path() + "/results" : fs::path(old).parent_path().string();
  moved_ |= to_another_folder;
  path_ = folder + "/file-" + std::to_string(++names_);
  std::error_code failed;
  fs::create_directories(folder, failed);
  fs::rename(old, path_, failed);
  if (failed) problem("the file cannot be renamed: " + failed.message());
}

// Another file takes the removed file's name. The journals of the removed file must not be replayed into it.
void Cluster::make_anew(std::uint64_t bytes) {
  if (bytes == 0 || disk_.in_use(0)) return;
  trace_.note(timeline_.now_ns(), 0, "the file is made anew: bytes", bytes);
  disk_.replace(0, oracle_.renew(bytes));
  anew_ = true;
}

}  // namespace millrace::sim
