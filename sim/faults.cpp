// SPDX-FileCopyrightText: 2026 The Millrace authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "draws.hpp"
#include "times.hpp"

namespace millrace::sim {

Fault make_fault(Dice& dice, const Scenario& scenario) {
  Fault fault{};
  fault.kind =
      dice.pick({FaultKind::slow_disk, FaultKind::full_disk, FaultKind::write_error, FaultKind::sync_error,
                 FaultKind::cut, FaultKind::cut, FaultKind::delay, FaultKind::pause, FaultKind::corrupt,
                 FaultKind::kill_agent, FaultKind::kill_agent, FaultKind::lose_node});
  fault.at_ns = dice.magnitude(ms / 100, 2 * second);
  fault.for_ns = dice.magnitude(ms, 2 * second);
  fault.node = static_cast<std::uint32_t>(dice.below(scenario.nodes));
  fault.other = static_cast<std::uint32_t>((fault.node + dice.between(1, std::max(scenario.nodes, 2U) - 1)) %
                                           scenario.nodes);
  switch (fault.kind) {
    case FaultKind::slow_disk:
      fault.amount = dice.between(2, 8);
      break;
    case FaultKind::full_disk:
      fault.amount = dice.below(scenario.file_bytes);
      break;
    case FaultKind::cut:
    case FaultKind::pause:
      if (dice.one_in(2)) fault.for_ns = 100 * second;
      break;
    case FaultKind::delay:
      fault.amount = dice.magnitude(ms / 10, 500 * ms);
      break;
    default:
      fault.amount = dice.magnitude(1, 100) - 1;
  }
  return fault;
}

Fault make_jump(Dice& dice, const Scenario& scenario) {
  Fault fault{FaultKind::clock_jump};
  fault.at_ns = dice.magnitude(ms / 100, 2 * second);
  fault.node = static_cast<std::uint32_t>(dice.below(scenario.nodes));
  fault.amount = dice.magnitude(ms, 300 * second);
  return fault;
}

bool has_one_of(const std::vector<Fault>& faults, std::initializer_list<FaultKind> kinds) {
  return std::ranges::any_of(
      faults, [&](const Fault& fault) { return std::ranges::find(kinds, fault.kind) != kinds.end(); });
}

const char* name_of(FaultKind kind) {
  constexpr const char* names[] = {
      // in the order of the kinds
      "fault: slow disk, times",
      "fault: full disk, at bytes",
      "fault: a write fails, after",
      "fault: a datasync fails, after",
      "fault: cut, for ns",
      "fault: delay, ns",
      "fault: paused, for ns",
      "fault: a wrong bit is to come",
      "fault: agent killed",
      "fault: node lost",
      "fault: the clock jumps, ns",
      "fault: agent is sent SIGTERM",
      "fault: agent and ranks killed at once",
      "fault: ranks killed",
      "fault: a read fails, after",
      "fault: the file is cut short, to bytes",
      "fault: a close tells of lost bytes, after",
      "fault: the file system stalls, for ns",
  };
  return names[static_cast<std::size_t>(kind)];
}

std::string describe(const Fault& fault) {
  return "\n  " + std::string(name_of(fault.kind)) + " " + std::to_string(fault.amount) + ", node " +
         std::to_string(fault.node) + " (" + std::to_string(fault.other) + "), from " +
         std::to_string(fault.at_ns / 1000) + " us for " + std::to_string(fault.for_ns / 1000) + " us";
}

}  // namespace millrace::sim
